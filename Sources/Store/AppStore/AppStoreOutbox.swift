package import Kernel
package import PostgresClient

/// What the App Store, and users with a transaction, handed in at the door: kept before anybody is answered, handed on until the
/// lifecycle producer has settled it.
package struct AppStoreOutbox: Sendable {
    /// A verified notification.
    package struct Notification: Sendable {
        /// `production` or `sandbox`.
        package let environment: String
        package let uuid: UUIDBits
        package let type: String
        package let subtype: String?
        package let originalTransactionID: String?
        package let signedAt: Timestamp
        package let facts: JSONValue
        /// The signed original.
        package let signedPayload: String

        package init(
            environment: String,
            uuid: UUIDBits,
            type: String,
            subtype: String?,
            originalTransactionID: String?,
            signedAt: Timestamp,
            facts: JSONValue,
            signedPayload: String
        ) {
            self.environment = environment
            self.uuid = uuid
            self.type = type
            self.subtype = subtype
            self.originalTransactionID = originalTransactionID
            self.signedAt = signedAt
            self.facts = facts
            self.signedPayload = signedPayload
        }
    }

    /// What a user's claim to a subscription meets.
    package enum Claim: Sendable, Equatable {
        /// The subscription is the user's already.
        case linked
        /// Kept for the producer.
        case accepted
        /// The subscription is another user's.
        case foreign
    }

    /// What waits for the producer.
    package enum Waiting: Sendable, Equatable {
        case notification(environment: String, uuid: UUIDBits)
        case link(environment: String, originalTransactionID: String, user: String)
    }

    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Keeps a notification.
    /// - Returns: `false` when it was kept before.
    package func keep(_ notification: Notification) async throws(PostgresError) -> Bool {
        try await pool.queryRetryingTransient(Self.keep(notification)).affected == 1
    }

    /// Keeps a user's claim, unless it is decided already.
    package func claim(
        environment: String,
        originalTransactionID: String,
        user: String,
        transaction: JSONValue
    ) async throws(PostgresError) -> Claim {
        let owner = try await pool.query(Self.owner(environment: environment, id: originalTransactionID)).first
        if let owner = try owner?.optionalString("user_id") { return owner == user ? .linked : .foreign }
        _ = try await pool.queryRetryingTransient(
            Self.keepLink(environment: environment, id: originalTransactionID, user: user, transaction: transaction)
        )
        return .accepted
    }

    /// Takes up to `limit` of each kind that were put on the queue longer ago than `age` and are not settled, and notes that
    /// they are put there again now.
    package func takeOverdue(olderThan age: Duration, limit: Int) async throws(PostgresError) -> [Waiting] {
        var found: [Waiting] = []
        for row in try await pool.query(Self.overdue(seconds: age.inSeconds, limit: limit)) {
            found.append(.notification(environment: try row.string("environment"), uuid: try row.uuid("uuid")))
        }
        for row in try await pool.query(Self.overdueLinks(seconds: age.inSeconds, limit: limit)) {
            found.append(
                .link(
                    environment: try row.string("environment"),
                    originalTransactionID: try row.string("original_transaction_id"),
                    user: try row.string("user_id")
                )
            )
        }
        return found
    }

    static func keep(_ notification: Notification) -> SQL {
        """
        INSERT INTO app_store_notifications (environment, notification_uuid, notification_type, subtype,
            original_transaction_id, signed_at, facts, signed_payload)
        VALUES (\(notification.environment), \(notification.uuid), \(notification.type), \(notification.subtype),
            \(notification.originalTransactionID), \(notification.signedAt), \(notification.facts),
            \(notification.signedPayload))
        ON CONFLICT (environment, notification_uuid) DO NOTHING
        """
    }

    static func owner(environment: String, id: String) -> SQL {
        """
        SELECT user_id FROM subscriptions
        WHERE environment = \(environment) AND original_transaction_id = \(id)
        """
    }

    /// A claim that was refused may be made again: the other user may have left since.
    static func keepLink(environment: String, id: String, user: String, transaction: JSONValue) -> SQL {
        """
        INSERT INTO subscription_links AS l (environment, original_transaction_id, user_id, transaction)
        VALUES (\(environment), \(id), \(user), \(transaction))
        ON CONFLICT (environment, original_transaction_id, user_id) DO UPDATE SET
            transaction = EXCLUDED.transaction, state = 'received', queued_at = now(), settled_at = NULL
        """
    }

    static func overdue(seconds: Double, limit: Int) -> SQL {
        """
        UPDATE app_store_notifications n SET queued_at = now()
        FROM (SELECT environment, notification_uuid FROM app_store_notifications
              WHERE state = 'received' AND queued_at < now() - make_interval(secs => \(seconds))
              ORDER BY queued_at LIMIT \(limit) FOR UPDATE SKIP LOCKED) late
        WHERE n.environment = late.environment AND n.notification_uuid = late.notification_uuid
        RETURNING n.environment, n.notification_uuid AS uuid
        """
    }

    static func overdueLinks(seconds: Double, limit: Int) -> SQL {
        """
        UPDATE subscription_links l SET queued_at = now()
        FROM (SELECT environment, original_transaction_id, user_id FROM subscription_links
              WHERE state = 'received' AND queued_at < now() - make_interval(secs => \(seconds))
              ORDER BY queued_at LIMIT \(limit) FOR UPDATE SKIP LOCKED) late
        WHERE (l.environment, l.original_transaction_id, l.user_id)
            = (late.environment, late.original_transaction_id, late.user_id)
        RETURNING l.environment, l.original_transaction_id, l.user_id
        """
    }
}
