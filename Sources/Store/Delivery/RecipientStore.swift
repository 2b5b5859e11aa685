package import Kernel
package import Notifications
package import PostgresClient

/// Reads everything the gates ask about a group of jobs, in one statement.
package struct RecipientStore: Sendable {
    /// One job's question.
    package struct Query: Sendable {
        package let messageID: MessageID
        package let userID: UserID
        package let category: String
        package let sourceEntityID: String?
        package let enqueuedAt: Timestamp
        /// The minute of the local day at which the category's window opens, `nil` for no window.
        package let openingMinute: Int?

        package init(
            messageID: MessageID,
            userID: UserID,
            category: String,
            sourceEntityID: String?,
            enqueuedAt: Timestamp,
            openingMinute: Int?
        ) {
            self.messageID = messageID
            self.userID = userID
            self.category = category
            self.sourceEntityID = sourceEntityID
            self.enqueuedAt = enqueuedAt
            self.openingMinute = openingMinute
        }
    }

    /// No badge shows more than this.
    private static let mostUnread = 999

    private let pool: PostgresPool
    private let defaultZone: String
    private let countsUnread: Bool

    /// - Parameters:
    ///   - defaultZone: whose hours count for users of unknown zone, an IANA name that the database knows. Their weeks are UTC's.
    ///   - countsUnread: whether to count what each user has not read, for the number on the app's icon.
    package init(pool: PostgresPool, defaultZone: String = "UTC", countsUnread: Bool = false) {
        self.pool = pool
        self.defaultZone = defaultZone
        self.countsUnread = countsUnread
    }

    /// The recipients in the order of the queries, and the database's clock.
    package func recipients(for queries: [Query]) async throws(PostgresError) -> (now: Timestamp, [Recipient]) {
        let rows = try await pool.query(Self.statement(queries, defaultZone: defaultZone, countsUnread: countsUnread))
        guard let first = rows.first else {
            throw PostgresError(.decoding, message: "no recipients for \(queries.count) queries")
        }
        let now = try first.timestamp("now")
        var found = [Recipient?](repeating: nil, count: queries.count)
        for row in rows {
            let index = try row.int("position") - 1
            guard found.indices.contains(index) else {
                throw PostgresError(.decoding, message: "a recipient for no query")
            }
            if found[index] == nil { found[index] = try Self.recipient(row) }
            if let device = try Self.device(row) { found[index]?.devices.append(device) }
        }
        var recipients: [Recipient] = []
        recipients.reserveCapacity(found.count)
        for recipient in found {
            guard var recipient else { throw PostgresError(.decoding, message: "a query without a recipient") }
            if recipient.devices.count > 1 { recipient.devices.sort { $0.id < $1.id } }
            recipients.append(recipient)
        }
        return (now, recipients)
    }

    /// One row for each query and device; a query without a device has one row too. (Gathering devices to one row a query, as
    /// text or JSON, took the server half as long again.)
    ///
    /// Zones come by join, so that an unknown name counts as none instead of failing the group. Local time, week and the next
    /// opening come from PostgreSQL, whose zone data the system keeps up to date. The bounds on the message id let partitions
    /// drop out before the statement runs.
    package static func statement(_ queries: [Query], defaultZone: String = "UTC", countsUnread: Bool = false) -> SQL {
        let ids = queries.map(\.messageID.bits)
        let unread = countsUnread ? unreadCount : "NULL::bigint"
        return """
            SELECT q.position, moment.now,
                coalesce(p.ios_permission_status = 'granted', false) AS granted,
                CASE WHEN isfinite(p.silence_until) THEN p.silence_until
                WHEN p.silence_until > moment.now THEN timestamptz '9999-12-31 00:00:00+00' END AS silence_until,
            p.language,
                p.categories -> q.category ->> 'enabled' AS switch,
                extract(epoch FROM wall.time::time)::int / 60 AS local_minute,
                to_char(CASE WHEN z.name IS NULL THEN moment.now AT TIME ZONE 'UTC' ELSE wall.time END, 'IYYY-"W"IW') AS week_key,
                ((wall.time - make_interval(mins => q.opening::int))::date + 1 + make_interval(mins => q.opening::int))
                    AT TIME ZONE wall.zone AS next_opening,
                coalesce(by_message.reason, by_source.reason, by_user.reason) AS cancellation,
                m.user_id AS stored_user, m.category AS stored_category, m.status AS stored_status,
                m.reason AS stored_reason, m.week_key AS stored_week, m.cap_open AS stored_cap_open, m.deliveries AS stored_deliveries,
                \(unescaped: unread) AS unread,
                d.id AS device, d.provider, d.environment, d.topic, d.token, d.registered_at
            FROM (SELECT clock_timestamp() AS now) AS moment
            CROSS JOIN unnest(
                \(ids), \(queries.map(\.userID.rawValue)), \(queries.map(\.category)),
                \(queries.map(\.sourceEntityID)), \(queries.map(\.enqueuedAt)), \(queries.map(\.openingMinute))
            ) WITH ORDINALITY AS q(id, user_id, category, source, enqueued_at, opening, position)
            LEFT JOIN user_notification_preferences p ON p.user_id = q.user_id
            LEFT JOIN time_zones z ON z.name = p.timezone
            CROSS JOIN LATERAL (
                SELECT coalesce(z.name, \(defaultZone)) AS zone, moment.now AT TIME ZONE coalesce(z.name, \(defaultZone)) AS time
                OFFSET 0
            ) AS wall
            LEFT JOIN notification_messages m ON m.id = q.id AND m.id BETWEEN \(ids.min()) AND \(ids.max())
            LEFT JOIN cancellations by_message
                ON by_message.scope = 'message' AND by_message.key = q.id::text AND by_message.before > q.enqueued_at
            LEFT JOIN cancellations by_source
                ON by_source.scope = 'source' AND by_source.key = q.source AND by_source.before > q.enqueued_at
            LEFT JOIN cancellations by_user
                ON by_user.scope = 'user' AND by_user.key = varsel_user_key(q.user_id) AND by_user.before > q.enqueued_at
            LEFT JOIN devices d
                ON d.user_id = q.user_id AND d.token IS NOT NULL AND d.invalidated_at IS NULL
                AND d.permission_status IN ('granted', 'provisional', 'ephemeral')
            """
    }

    /// Other messages that the inbox shows as unread. The index on user and id serves it.
    private static let unreadCount = """
        (SELECT count(*) FROM (
            SELECT FROM notification_messages u
            WHERE u.user_id = q.user_id AND u.status IN ('sent', 'unknown') AND NOT u.is_test AND u.read_at IS NULL AND u.id <> q.id
              AND u.id < \(InboxSQL.end)
            LIMIT \(mostUnread)
        ) AS unread)
        """

    private static func recipient(_ row: PostgresRow) throws(PostgresError) -> Recipient {
        Recipient(
            isPermissionGranted: try row.bool("granted"),
            silenceUntil: try row.optionalTimestamp("silence_until"),
            categorySwitch: try row.optionalString("switch").flatMap {
                $0 == "true" ? true : $0 == "false" ? false : nil
            },
            language: try row.optionalString("language"),
            localMinute: try row.int("local_minute"),
            weekKey: try row.string("week_key"),
            nextOpening: try row.optionalTimestamp("next_opening"),
            cancellationReason: try row.optionalString("cancellation"),
            unread: try row.optionalInt64("unread").map { Int($0) },
            stored: try stored(row)
        )
    }

    private static func device(_ row: PostgresRow) throws(PostgresError) -> RecipientDevice? {
        guard let id = try row.optionalInt64("device") else { return nil }
        guard let provider = PushProvider(rawValue: try row.string("provider")),
            let environment = PushEnvironment(rawValue: try row.string("environment"))
        else { throw PostgresError(.decoding, message: "device \(id) has an unknown provider or environment") }
        return RecipientDevice(
            id: id,
            provider: provider,
            token: try row.string("token"),
            environment: environment,
            topic: try row.string("topic"),
            registeredAt: try row.timestamp("registered_at")
        )
    }

    private static func stored(_ row: PostgresRow) throws(PostgresError) -> StoredMessage? {
        guard let userID = try row.optionalString("stored_user") else { return nil }
        guard let status = MessageStatus(rawValue: try row.string("stored_status")) else {
            throw PostgresError(.decoding, message: "unknown message status")
        }
        return StoredMessage(
            userID: userID,
            category: try row.string("stored_category"),
            status: status,
            reason: try row.optionalString("stored_reason"),
            weekKey: try row.optionalString("stored_week"),
            isCapOpen: try row.bool("stored_cap_open"),
            deliveries: try DeliveriesJSON.decode(row.json("stored_deliveries"))
        )
    }
}
