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

    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// The recipients in the order of the queries, and the database's clock.
    package func recipients(for queries: [Query]) async throws(PostgresError) -> (now: Timestamp, [Recipient]) {
        let rows = try await pool.query(Self.statement(queries))
        guard rows.count == queries.count, let first = rows.first else {
            throw PostgresError(.decoding, message: "\(rows.count) recipients for \(queries.count) queries")
        }
        let now = try first.timestamp("now")
        var recipients: [Recipient] = []
        recipients.reserveCapacity(rows.count)
        for row in rows { recipients.append(try Self.recipient(row)) }
        return (now, recipients)
    }

    /// Zones come by join, so that an unknown name counts as none instead of failing the group. Local time, week and the next
    /// opening come from PostgreSQL, whose zone data the system keeps up to date.
    static func statement(_ queries: [Query]) -> SQL {
        """
        SELECT moment.now,
            coalesce(p.ios_permission_status = 'granted', false) AS granted,
            p.silence_until, p.language,
            p.categories -> q.category ->> 'enabled' AS switch,
            extract(hour FROM wall.time)::int * 60 + extract(minute FROM wall.time)::int AS local_minute,
            to_char(wall.time, 'IYYY-"W"IW') AS week_key,
            CASE WHEN q.opening IS NOT NULL THEN
                (date_trunc('day', wall.time) + make_interval(mins => q.opening::int)
                    + CASE WHEN wall.time::time >= make_time(0, 0, 0) + make_interval(mins => q.opening::int)
                        THEN interval '1 day' ELSE interval '0' END) AT TIME ZONE wall.zone
            END AS next_opening,
            coalesce(by_message.reason, by_source.reason, by_user.reason) AS cancellation,
            m.user_id AS stored_user, m.category AS stored_category, m.status AS stored_status,
            m.reason AS stored_reason, m.week_key AS stored_week, m.deliveries AS stored_deliveries,
            d.devices
        FROM (SELECT clock_timestamp() AS now) AS moment
        CROSS JOIN unnest(
            \(queries.map(\.messageID.bits)), \(queries.map(\.userID.rawValue)), \(queries.map(\.category)),
            \(queries.map(\.sourceEntityID)), \(queries.map(\.enqueuedAt)), \(queries.map(\.openingMinute))
        ) WITH ORDINALITY AS q(id, user_id, category, source, enqueued_at, opening, position)
        LEFT JOIN user_notification_preferences p ON p.user_id = q.user_id
        LEFT JOIN time_zones z ON z.name = p.timezone
        CROSS JOIN LATERAL (
            SELECT coalesce(z.name, 'UTC') AS zone, moment.now AT TIME ZONE coalesce(z.name, 'UTC') AS time
        ) AS wall
        LEFT JOIN notification_messages m ON m.id = q.id
        LEFT JOIN cancellations by_message
            ON by_message.scope = 'message' AND by_message.key = q.id::text AND by_message.before > q.enqueued_at
        LEFT JOIN cancellations by_source
            ON by_source.scope = 'source' AND by_source.key = q.source AND by_source.before > q.enqueued_at
        LEFT JOIN cancellations by_user
            ON by_user.scope = 'user' AND by_user.key = q.user_id AND by_user.before > q.enqueued_at
        LEFT JOIN LATERAL (
            SELECT string_agg(
                concat_ws(E'\\t', id, provider, environment, (extract(epoch FROM registered_at) * 1000)::bigint, topic, token),
                E'\\n' ORDER BY id
            ) AS devices
            FROM devices
            WHERE user_id = q.user_id AND token IS NOT NULL AND invalidated_at IS NULL
              AND permission_status IN ('granted', 'provisional', 'ephemeral')
        ) AS d ON true
        ORDER BY q.position
        """
    }

    private static func recipient(_ row: PostgresRow) throws(PostgresError) -> Recipient {
        Recipient(
            isPermissionGranted: try row.bool("granted"),
            devices: try devices(row.optionalString("devices")),
            silenceUntil: try row.optionalTimestamp("silence_until"),
            categorySwitch: try row.optionalString("switch").flatMap {
                $0 == "true" ? true : $0 == "false" ? false : nil
            },
            language: try row.optionalString("language"),
            localMinute: try row.int("local_minute"),
            weekKey: try row.string("week_key"),
            nextOpening: try row.optionalTimestamp("next_opening"),
            cancellationReason: try row.optionalString("cancellation"),
            stored: try stored(row)
        )
    }

    /// Reads the lines of devices: no field but the token, which is last, and the topic could hold a tab, and the gateway
    /// refuses both with control characters.
    private static func devices(_ lines: String?) throws(PostgresError) -> [RecipientDevice] {
        var devices: [RecipientDevice] = []
        for line in (lines ?? "").split(separator: "\n") {
            let fields = line.split(separator: "\t", maxSplits: 5, omittingEmptySubsequences: false)
            guard fields.count == 6, let id = Int64(fields[0]),
                let provider = PushProvider(rawValue: String(fields[1])),
                let environment = PushEnvironment(rawValue: String(fields[2])), let registered = Int64(fields[3])
            else { throw PostgresError(.decoding, message: "a device row cannot be read") }
            devices.append(
                RecipientDevice(
                    id: id,
                    provider: provider,
                    token: String(fields[5]),
                    environment: environment,
                    topic: String(fields[4]),
                    registeredAt: Timestamp(milliseconds: registered)
                )
            )
        }
        return devices
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
            deliveries: try DeliveriesJSON.decode(row.json("stored_deliveries"))
        )
    }
}
