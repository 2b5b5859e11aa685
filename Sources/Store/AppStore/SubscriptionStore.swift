package import Kernel
package import PostgresClient

/// Subscriptions and what is settled about them, each change under a lock of the subscription's row.
package struct SubscriptionStore: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Runs the body in one transaction, which is rolled back when it throws.
    package func session<Value: Sendable>(
        _ body: (SubscriptionSession) async throws -> Value
    ) async throws -> Value {
        try await pool.transaction { transaction in try await body(SubscriptionSession(transaction: transaction)) }
    }

    /// Subscriptions of production that end soon and will not renew, have an owner who may be told now, and of whose end nothing
    /// was said: from three days before the local date of the end until twelve hours before it, between nine in the morning and
    /// nine in the evening of the owner. Owners without a known zone are told between 12 and 17 in `defaultZone`.
    /// - Parameter now: the moment it is judged by.
    /// - Returns: ids of at most `limit`, those that end first first, after `after`.
    package func expiring(
        now: Timestamp,
        defaultZone: String,
        after: (expiresAt: Timestamp, id: String)?,
        limit: Int
    ) async throws(PostgresError) -> [(id: String, expiresAt: Timestamp)] {
        var found: [(id: String, expiresAt: Timestamp)] = []
        for row in try await pool.query(
            SubscriptionSQL.expiring(now: now, defaultZone: defaultZone, after: after, limit: limit)
        ) {
            found.append((try row.string("original_transaction_id"), try row.timestamp("expires_at")))
        }
        return found
    }

    /// A user's subscriptions, those that end first first.
    package func subscriptions(of user: String) async throws(PostgresError) -> [SubscriptionRecord] {
        try await pool.query(SubscriptionSQL.owned(by: user)).map { row throws(PostgresError) in
            try SubscriptionRecord(row)
        }
    }

    /// Language of a user, and the local date of a moment in the user's zone; UTC where it is unknown.
    package func audience(
        of user: String,
        at moment: Timestamp?
    ) async throws(PostgresError) -> SubscriptionAudience {
        try SubscriptionAudience(try await pool.query(SubscriptionSQL.audience(of: user, at: moment)).first)
    }
}

/// Who is told, as far as words depend on it.
package struct SubscriptionAudience: Sendable, Equatable {
    /// A BCP 47 tag.
    package let language: String?
    /// `2026-12-31`, of the moment that was asked about.
    package let localDate: String?

    package init(language: String?, localDate: String?) {
        self.language = language
        self.localDate = localDate
    }

    init(_ row: PostgresRow?) throws(PostgresError) {
        language = try row?.optionalString("language")
        localDate = try row?.optionalString("local_date")
    }
}

/// One transaction about one subscription.
package struct SubscriptionSession: Sendable {
    /// A notification of the outbox.
    package struct Notification: Sendable {
        package let facts: JSONValue
        /// `received`, `done`, `unlinked` or `failed`.
        package let state: String
    }

    /// What became of a notification.
    package struct Settlement: Sendable {
        package var state: String
        /// A word for operators, such as `announced`, `late`, `superseded`.
        package var outcome: String
        package var event: String?
        package var messageID: UUIDBits?

        package init(state: String, outcome: String, event: String? = nil, messageID: UUIDBits? = nil) {
            self.state = state
            self.outcome = outcome
            self.event = event
            self.messageID = messageID
        }
    }

    let transaction: PostgresTransaction

    /// The notification, locked; `nil` when there is none.
    package func notification(environment: String, uuid: UUIDBits) async throws(PostgresError) -> Notification? {
        guard
            let row = try await transaction.query(SubscriptionSQL.notification(environment: environment, uuid: uuid))
                .first
        else { return nil }
        return Notification(facts: try row.json("facts"), state: try row.string("state"))
    }

    package func settle(environment: String, uuid: UUIDBits, _ settlement: Settlement) async throws(PostgresError) {
        _ = try await transaction.query(SubscriptionSQL.settle(environment: environment, uuid: uuid, settlement))
    }

    /// The subscription, locked until the transaction ends; made when it is new.
    package func subscription(environment: String, id: String) async throws(PostgresError) -> SubscriptionRecord {
        _ = try await transaction.query(SubscriptionSQL.make(environment: environment, id: id))
        // A statement of its own: it sees what was committed while it waited for the lock.
        guard let row = try await transaction.query(SubscriptionSQL.lock(environment: environment, id: id)).first else {
            throw PostgresError(.decoding, message: "a subscription that was just made is gone")
        }
        return try SubscriptionRecord(row)
    }

    package func save(_ record: SubscriptionRecord) async throws(PostgresError) {
        _ = try await transaction.query(SubscriptionSQL.save(record))
    }

    /// The user whose id is this account token, in either case.
    package func user(forToken token: UUIDBits) async throws(PostgresError) -> String? {
        let text = token.description
        let rows = try await transaction.query(SubscriptionSQL.user(spelled: [text, text.uppercased()]))
        return try rows.first?.string("user_id")
    }

    package func audience(of user: String, at moment: Timestamp?) async throws(PostgresError) -> SubscriptionAudience {
        try SubscriptionAudience(try await transaction.query(SubscriptionSQL.audience(of: user, at: moment)).first)
    }

    /// Whether the user has another subscription of the same group that gives access at the moment.
    package func hasOther(than record: SubscriptionRecord, at moment: Timestamp) async throws(PostgresError) -> Bool {
        guard let user = record.user, let group = record.subscriptionGroup else { return false }
        let statement = SubscriptionSQL.hasOther(than: record, user: user, group: group, at: moment)
        return try await transaction.query(statement).first?.bool("found") ?? false
    }

    /// Calls back what was said about a subscription before the moment and has not been sent.
    package func callBack(source: String, before moment: Timestamp, reason: String) async throws(PostgresError) {
        _ = try await transaction.query(
            CancellationStore.cancel(.source, key: source, before: moment, reason: reason)
        )
    }

    /// Whether the subscription is due for its notice; see `SubscriptionStore.expiring`.
    package func isExpiring(
        _ record: SubscriptionRecord,
        now: Timestamp,
        defaultZone: String
    ) async throws(PostgresError) -> Bool {
        let statement = SubscriptionSQL.isExpiring(record.originalTransactionID, now: now, defaultZone: defaultZone)
        return try await transaction.query(statement).first != nil
    }

    /// A user's claim that is not settled, locked.
    package func link(
        environment: String,
        id: String,
        user: String
    ) async throws(PostgresError) -> JSONValue? {
        let statement = SubscriptionSQL.link(environment: environment, id: id, user: user)
        return try await transaction.query(statement).first?.json("transaction")
    }

    package func settleLink(
        environment: String,
        id: String,
        user: String,
        isGranted: Bool
    ) async throws(PostgresError) {
        _ = try await transaction.query(
            SubscriptionSQL.settleLink(environment: environment, id: id, user: user, isGranted: isGranted)
        )
    }

    /// The newest notification that found no user, the others being settled as outdated.
    package func takeUnlinked(
        environment: String,
        id: String
    ) async throws(PostgresError) -> (uuid: UUIDBits, facts: JSONValue)? {
        let rows = try await transaction.query(SubscriptionSQL.unlinked(environment: environment, id: id))
        guard let newest = rows.first else { return nil }
        for row in rows.dropFirst() {
            try await settle(
                environment: environment,
                uuid: try row.uuid("uuid"),
                Settlement(state: "done", outcome: "outdated")
            )
        }
        return (try newest.uuid("uuid"), try newest.json("facts"))
    }
}
