package import Kernel
package import Notifications
package import PostgresClient

/// Records outcomes in groups: message rows, `lastSentAt` and events in one statement.
package struct OutcomeStore: Sendable {
    /// What is to be remembered of one run of a job.
    package struct Record: Sendable {
        package let messageID: MessageID
        package let userID: String
        package let category: String?
        package let status: MessageStatus?
        package let reason: String?
        package let deliveries: [Int64: DeviceDelivery]
        package let acceptedAt: Timestamp?
        package let clearsWeek: Bool
        package let events: [DeliveryEvent]

        package init(
            messageID: MessageID,
            userID: String,
            category: String?,
            status: MessageStatus?,
            reason: String?,
            deliveries: [Int64: DeviceDelivery],
            acceptedAt: Timestamp?,
            clearsWeek: Bool,
            events: [DeliveryEvent]
        ) {
            self.messageID = messageID
            self.userID = userID
            self.category = category
            self.status = status
            self.reason = reason
            self.deliveries = deliveries
            self.acceptedAt = acceptedAt
            self.clearsWeek = clearsWeek
            self.events = events
        }

        var changesRow: Bool { status != nil || !deliveries.isEmpty || acceptedAt != nil || clearsWeek }
    }

    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Records a group.
    /// - Returns: the SQLSTATE of each record that the database refused alone, by message; they were dropped.
    package func record(_ records: [Record]) async throws(PostgresError) -> [MessageID: String] {
        var refused: [MessageID: String] = [:]
        try await record(records[...], refused: &refused)
        return refused
    }

    private func record(
        _ records: ArraySlice<Record>,
        refused: inout [MessageID: String]
    ) async throws(PostgresError) {
        guard !records.isEmpty else { return }
        do {
            _ = try await pool.queryRetryingTransient(Self.statement(records))
        } catch  where error.isDataFault {
            guard records.count > 1 else {
                for record in records { refused[record.messageID] = error.sqlState ?? "22000" }
                return
            }
            let middle = records.startIndex + records.count / 2
            try await self.record(records[..<middle], refused: &refused)
            try await self.record(records[middle...], refused: &refused)
        }
    }

    /// An acceptance that the row already holds is never overwritten. `lastSentAt` of one user is put together first, and users
    /// are updated in the order of their ids, so that two workers cannot lock each other out.
    static func statement(_ records: ArraySlice<Record>) -> SQL {
        let rows = records.filter(\.changesRow)
        let sent = records.compactMap { record in record.acceptedAt.map { (record, $0) } }
            .filter { $0.0.category != nil }
        let events = records.flatMap(\.events)
        return """
            WITH changed AS (
                UPDATE notification_messages m
                SET status = coalesce(r.status, m.status),
                    reason = CASE WHEN r.status IS NULL THEN m.reason ELSE r.reason END,
                    deliveries = CASE WHEN m.deliveries = '{}'::jsonb THEN r.deliveries ELSE m.deliveries || r.deliveries || (
                        SELECT coalesce(jsonb_object_agg(key, value), '{}'::jsonb) FROM jsonb_each(m.deliveries)
                        WHERE value ->> 's' = 'accepted'
                    ) END,
                    sent_at = coalesce(m.sent_at, r.accepted_at),
                    week_key = CASE WHEN r.clears_week THEN NULL ELSE m.week_key END,
                    updated_at = now()
                FROM unnest(
                    \(rows.map(\.messageID.bits)), \(rows.map { $0.status?.rawValue }), \(rows.map(\.reason)),
                    \(rows.map { JSONText(DeliveriesJSON.encode($0.deliveries)) }), \(rows.map(\.acceptedAt)),
                    \(rows.map(\.clearsWeek))
                ) AS r(id, status, reason, deliveries, accepted_at, clears_week)
                WHERE m.id = r.id
            ), latest AS (
                SELECT user_id, category, max(at) AS at
                FROM unnest(
                    \(sent.map(\.0.userID)), \(sent.map { $0.0.category ?? "" }), \(sent.map(\.1))
                ) AS s(user_id, category, at)
                GROUP BY user_id, category
            ), locked AS (
                SELECT p.user_id, p.categories FROM user_notification_preferences p
                WHERE p.user_id IN (SELECT user_id FROM latest) ORDER BY p.user_id FOR UPDATE
            ), merged AS (
                SELECT l.user_id, jsonb_object_agg(
                    latest.category,
                    coalesce(l.categories -> latest.category, '{}'::jsonb)
                        || jsonb_build_object('lastSentAt', to_char(latest.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
                ) AS entries
                FROM locked l JOIN latest USING (user_id) GROUP BY l.user_id
            ), preferences AS (
                UPDATE user_notification_preferences p
                SET categories = p.categories || merged.entries, updated_at = now()
                FROM merged WHERE p.user_id = merged.user_id
            )
            INSERT INTO notification_events
                (at, message_id, user_id, job_id, ats, attempt, kind, category, gate, reason, device, detail)
            SELECT at, message_id, user_id, job_id, ats, attempt, kind, category, gate, reason, device, detail
            FROM unnest(
                \(events.map(\.at)), \(events.map(\.messageID.bits)), \(events.map(\.userID)), \(events.map(\.jobID)),
                \(events.map(\.attemptsStarted)), \(events.map(\.attempt)), \(events.map(\.kind.rawValue)),
                \(events.map(\.category)), \(events.map(\.gate)), \(events.map(\.reason)), \(events.map(\.device)),
                \(events.map(\.detail))
            ) AS e(at, message_id, user_id, job_id, ats, attempt, kind, category, gate, reason, device, detail)
            """
    }
}

extension PostgresPool {
    /// Runs a statement again, at most three times in all, when a deadlock or serialization failure ended it.
    func queryRetryingTransient(_ sql: SQL) async throws(PostgresError) -> PostgresRows {
        for _ in 0..<2 {
            do {
                return try await query(sql)
            } catch  where error.isTransient {
                continue
            }
        }
        return try await query(sql)
    }
}
