import Kernel
package import Notifications
package import PostgresClient

/// Finds rows that no run of their job comes back to, and ends them.
package struct UpkeepStore: Sendable {
    /// What is needed to take or free the slot of a row.
    package struct Message: Sendable, Equatable {
        package let id: MessageID
        package let userID: String
        package let category: String
        package let weekKey: String?
        package let keepsSlot: Bool

        package init(id: MessageID, userID: String, category: String, weekKey: String?, keepsSlot: Bool) {
            self.id = id
            self.userID = userID
            self.category = category
            self.weekKey = weekKey
            self.keepsSlot = keepsSlot
        }
    }

    /// Lets one process at a time search for lost rows.
    package static let takeTurn: SQL = "SELECT pg_try_advisory_xact_lock(x'564152534C52'::bigint) AS is_ours"

    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Rows pending for longer than their category's age after they were due, the oldest first. Empty while another process
    /// searches.
    package func lost(ages: [String: Duration], lookBack: Duration, limit: Int) async throws(PostgresError) -> [Message]
    {
        try await messages(Self.lost(ages: ages, lookBack: lookBack, limit: limit))
    }

    /// Ends rows that are still pending: `failed`, or by what devices answered `unknown` or `sent`.
    /// The slots of those that reached nobody are noted as debts.
    /// - Returns: how many of each category became what.
    package func endLost(_ ids: [MessageID]) async throws(PostgresError)
        -> [(category: String, status: String, count: Int)]
    {
        guard !ids.isEmpty else { return [] }
        var ended: [(category: String, status: String, count: Int)] = []
        for row in try await pool.queryRetryingTransient(Self.endLost(ids)) {
            ended.append((try row.string("category"), try row.string("status"), try row.int("count")))
        }
        return ended
    }

    /// Rows that went out uncounted.
    package func uncounted(limit: Int) async throws(PostgresError) -> [Message] {
        try await messages(Self.uncounted(limit: limit))
    }

    /// Notes that the slots of rows were taken, where they stand as they were found: with the same week, and with their slot or
    /// without it.
    /// - Returns: which rows those were.
    package func markCounted(_ found: [Message]) async throws(PostgresError) -> Set<MessageID> {
        try await ids(Self.markCounted(found), of: found)
    }

    /// Which rows hold their slot still, in the week that was read.
    package func stillHolding(_ found: [Message]) async throws(PostgresError) -> Set<MessageID> {
        try await ids(Self.stillHolding(found), of: found)
    }

    private func ids(_ statement: SQL, of found: [Message]) async throws(PostgresError) -> Set<MessageID> {
        guard !found.isEmpty else { return [] }
        var ids: Set<MessageID> = []
        for row in try await pool.queryRetryingTransient(statement) {
            if let id = MessageID(try row.uuid("id")) { ids.insert(id) }
        }
        return ids
    }

    /// A page of the rows that hold slots in the weeks that run anywhere on earth now, in the order of their ids.
    /// - Parameter id: the last one of the page before.
    package func holders(after id: MessageID?, limit: Int) async throws(PostgresError) -> [Message] {
        try await messages(Self.holders(after: id, limit: limit))
    }

    private func messages(_ statement: SQL) async throws(PostgresError) -> [Message] {
        var messages: [Message] = []
        for row in try await pool.queryRetryingTransient(statement) {
            guard let id = MessageID(try row.uuid("id")) else { continue }
            messages.append(
                Message(
                    id: id,
                    userID: try row.string("user_id"),
                    category: try row.string("category"),
                    weekKey: try row.optionalString("week_key"),
                    keepsSlot: try row.bool("keeps_slot")
                )
            )
        }
        return messages
    }

    /// Whether a device took the message or may have.
    private static let mayHaveArrived =
        #"jsonb_path_exists(m.deliveries, '$.* ? (@.s == "accepted" || @.s == "unknown")')"#

    /// Rows are appended in the order of their creation, so that the block range index leaves a stretch of the table.
    static func lost(ages: [String: Duration], lookBack: Duration, limit: Int) -> SQL {
        let ages = ages.sorted { $0.key < $1.key }
        let seconds = ages.map { Int($0.value.milliseconds / 1000) }
        return """
            WITH turn AS MATERIALIZED (\(unescaped: takeTurn.text))
            SELECT m.id, m.user_id, m.category, m.week_key, \(unescaped: mayHaveArrived) AS keeps_slot
            FROM turn
            JOIN notification_messages m ON turn.is_ours
            LEFT JOIN unnest(\(ages.map(\.key)), \(seconds)) AS a(category, seconds) ON a.category = m.category
            WHERE m.status = 'pending'
              AND m.created_at > now() - make_interval(secs => \(Int(lookBack.milliseconds / 1000)))
              AND m.created_at < now() - make_interval(secs => \(seconds.min() ?? 0))
              AND m.due_at < now() - make_interval(secs => coalesce(a.seconds, \(seconds.max() ?? 0)))
            ORDER BY m.id LIMIT \(limit)
            """
    }

    static func endLost(_ ids: [MessageID]) -> SQL {
        let ids = ids.map(\.bits)
        return """
            WITH ended AS (
                UPDATE notification_messages m
                SET status = CASE
                        WHEN m.sent_at IS NOT NULL THEN 'sent' WHEN \(unescaped: mayHaveArrived) THEN 'unknown' ELSE 'failed'
                    END,
                    reason = CASE WHEN m.sent_at IS NULL THEN 'lost' END, updated_at = now()
                WHERE m.id = ANY(\(ids)) AND m.id BETWEEN \(ids.min()) AND \(ids.max()) AND m.status = 'pending'
                RETURNING m.id, m.user_id, m.category, m.job_id, m.status, m.week_key
            ), owed AS (
                INSERT INTO slot_debts (message_id, week_key, user_id, category)
                SELECT id, week_key, user_id, category FROM ended WHERE status = 'failed' AND week_key IS NOT NULL
                ON CONFLICT DO NOTHING
            ), told AS (
                INSERT INTO notification_events (at, message_id, user_id, job_id, ats, attempt, kind, category, gate, reason)
                SELECT clock_timestamp(), id, user_id, job_id, 0, 0, status, category, 'reaper', 'lost' FROM ended
            )
            SELECT category, status, count(*)::int AS count FROM ended GROUP BY category, status
            """
    }

    static func uncounted(limit: Int) -> SQL {
        """
        SELECT id, user_id, category, week_key, status IN ('pending', 'sent', 'unknown') AS keeps_slot
        FROM notification_messages WHERE cap_open LIMIT \(limit)
        """
    }

    static func markCounted(_ found: [Message]) -> SQL {
        let ids = found.map(\.id.bits)
        return """
            UPDATE notification_messages m SET cap_open = false, updated_at = now()
            FROM unnest(\(ids), \(found.map(\.weekKey)), \(found.map(\.keepsSlot))) AS f(id, week_key, keeps_slot)
            WHERE m.id = f.id AND m.id BETWEEN \(ids.min()) AND \(ids.max()) AND m.cap_open
              AND m.week_key IS NOT DISTINCT FROM f.week_key
              AND (m.status IN ('pending', 'sent', 'unknown')) = f.keeps_slot
            RETURNING m.id
            """
    }

    static func stillHolding(_ found: [Message]) -> SQL {
        let ids = found.map(\.id.bits)
        return """
            SELECT m.id FROM unnest(\(ids), \(found.map(\.weekKey))) AS f(id, week_key)
            JOIN notification_messages m ON m.id = f.id AND m.week_key = f.week_key
            WHERE m.id BETWEEN \(ids.min()) AND \(ids.max()) AND m.status IN ('pending', 'sent', 'unknown')
            """
    }

    /// An id tells when its message was due, at most 90 days from its row.
    static func holders(after id: MessageID?, limit: Int) -> SQL {
        """
        SELECT id, user_id, category, week_key, true AS keeps_slot
        FROM notification_messages
        WHERE id > coalesce(\(id?.bits), varsel_uuid_floor(now() - interval '100 days'))
          AND status IN ('pending', 'sent', 'unknown') AND created_at > now() - interval '9 days'
          AND week_key IN (
              to_char(now() AT TIME ZONE 'UTC' - interval '14 hours', 'IYYY-"W"IW'),
              to_char(now() AT TIME ZONE 'UTC' + interval '14 hours', 'IYYY-"W"IW')
          )
        ORDER BY id LIMIT \(limit)
        """
    }
}
