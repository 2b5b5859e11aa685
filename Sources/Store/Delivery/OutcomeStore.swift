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
    /// - Parameter isRepeat: says that the same records were given before and nobody knows what became of them. Events that were
    ///   written then are not written again.
    /// - Returns: the SQLSTATE of each record that the database refused alone, by message; they were dropped.
    package func record(_ records: [Record], isRepeat: Bool = false) async throws(PostgresError) -> [MessageID: String]
    {
        var refused: [MessageID: String] = [:]
        var records = records
        if isRepeat { records = try await withoutKnownEvents(records) }
        for records in Self.rounds(of: records) { try await record(records[...], refused: &refused) }
        return refused
    }

    /// What tells one event of a message from another.
    private struct EventKey: Hashable {
        let message: MessageID
        let kind: String
        let milliseconds: Int64
        let starts: Int
        let device: String?
    }

    private func withoutKnownEvents(_ records: [Record]) async throws(PostgresError) -> [Record] {
        let ids = records.map(\.messageID)
        // The first try may still be running: it holds the rows' locks, and until it ends its events cannot be seen.
        _ = try await pool.queryRetryingTransient(Self.lockRows(ids))
        var known: Set<EventKey> = []
        for row in try await pool.queryRetryingTransient(
            Self.knownEvents(ids, since: records.compactMap { $0.events.map(\.at).min() }.min())
        ) {
            guard let event = try DeliveryEvent(row) else { continue }
            known.insert(Self.key(of: event))
        }
        guard !known.isEmpty else { return records }
        return records.map { record in
            Record(
                messageID: record.messageID,
                userID: record.userID,
                category: record.category,
                status: record.status,
                reason: record.reason,
                deliveries: record.deliveries,
                acceptedAt: record.acceptedAt,
                clearsWeek: record.clearsWeek,
                events: record.events.filter { !known.contains(Self.key(of: $0)) }
            )
        }
    }

    private static func key(of event: DeliveryEvent) -> EventKey {
        EventKey(
            message: event.messageID,
            kind: event.kind.rawValue,
            milliseconds: event.at.milliseconds,
            starts: event.attemptsStarted,
            device: event.device
        )
    }

    static func lockRows(_ ids: [MessageID]) -> SQL {
        let ids = ids.map(\.bits)
        return """
            SELECT id FROM notification_messages
            WHERE id = ANY(\(ids)) AND id BETWEEN \(ids.min()) AND \(ids.max()) ORDER BY id FOR UPDATE
            """
    }

    static func knownEvents(_ ids: [MessageID], since moment: Timestamp?) -> SQL {
        """
        SELECT at, message_id, user_id, job_id, ats, attempt, kind, category, gate, reason, device, NULL::jsonb AS detail
        FROM notification_events WHERE message_id = ANY(\(ids.map(\.bits))) AND at >= coalesce(\(moment), now())
        """
    }

    /// An UPDATE changes a row once, whatever it is joined with. So a second record of one message, or of one user and
    /// another category, waits for a statement of its own. Nearly always there is one round.
    static func rounds(of records: [Record]) -> [[Record]] {
        var rounds: [[Record]] = []
        var rest = records
        while !rest.isEmpty {
            var messages: Set<MessageID> = []
            var categories: [String: String] = [:]
            var round: [Record] = []
            var waiting: [Record] = []
            for record in rest {
                let category = record.acceptedAt == nil ? nil : record.category
                let isFree = category.map { categories[record.userID, default: $0] == $0 } ?? true
                // A message that waits keeps its later records waiting, so that they stay in order.
                if isFree, messages.insert(record.messageID).inserted {
                    if let category { categories[record.userID] = category }
                    round.append(record)
                } else {
                    messages.insert(record.messageID)
                    waiting.append(record)
                }
            }
            rounds.append(round)
            rest = waiting
        }
        return rounds
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

    /// A user's last acceptance of a category in a group.
    private struct Latest {
        let user: String
        let category: String
        var at: Timestamp

        /// To the second: `{"lastSentAt":"2026-12-01T09:30:00Z"}`.
        var entry: JSONText { JSONText("{\"lastSentAt\":\"\(at.rfc3339.prefix(19))Z\"}") }
    }

    /// In the order of user ids, so that two workers cannot lock each other out.
    private static func latest(_ records: ArraySlice<Record>) -> [Latest] {
        var byUser: [String: Latest] = [:]
        for record in records {
            guard let at = record.acceptedAt, let category = record.category else { continue }
            let known = byUser[record.userID]?.at ?? at
            byUser[record.userID] = Latest(user: record.userID, category: category, at: max(known, at))
        }
        return byUser.values.sorted { $0.user < $1.user }
    }

    /// Expects one round's records. A row that is sent stays sent, and an acceptance that it holds is never overwritten.
    package static func statement(_ records: ArraySlice<Record>) -> SQL {
        let rows = records.filter(\.changesRow)
        let ids = rows.map(\.messageID.bits)
        let latest = latest(records)
        let events = records.flatMap(\.events)
        return """
            WITH changed AS (
                UPDATE notification_messages m
                SET status = CASE WHEN m.status = 'sent' THEN m.status ELSE coalesce(r.status, m.status) END,
                    reason = CASE WHEN r.status IS NULL OR (m.status = 'sent' AND r.status <> 'sent') THEN m.reason
                        ELSE r.reason END,
                    deliveries = CASE WHEN m.deliveries = '{}'::jsonb THEN r.deliveries ELSE m.deliveries || r.deliveries || (
                        SELECT coalesce(jsonb_object_agg(key, value), '{}'::jsonb) FROM jsonb_each(m.deliveries)
                        WHERE value ->> 's' = 'accepted'
                    ) END,
                    sent_at = coalesce(m.sent_at, r.accepted_at),
                    week_key = CASE WHEN r.clears_week THEN NULL ELSE m.week_key END,
                    cap_open = m.cap_open AND NOT r.clears_week,
                    updated_at = now()
                FROM unnest(
                    \(ids), \(rows.map { $0.status?.rawValue }), \(rows.map(\.reason)),
                    \(rows.map { JSONText(DeliveriesJSON.encode($0.deliveries)) }), \(rows.map(\.acceptedAt)),
                    \(rows.map(\.clearsWeek))
                ) AS r(id, status, reason, deliveries, accepted_at, clears_week)
                WHERE m.id = r.id AND m.id BETWEEN \(ids.min()) AND \(ids.max())
            ), preferences AS (
                UPDATE user_notification_preferences p
                SET categories = jsonb_set(p.categories, ARRAY[s.category],
                        coalesce(p.categories -> s.category, '{}'::jsonb) || s.entry),
                    updated_at = now()
                FROM unnest(
                    \(latest.map(\.user)), \(latest.map(\.category)),
                    \(latest.map(\.entry))
                ) AS s(user_id, category, entry)
                WHERE p.user_id = s.user_id
            )
            INSERT INTO notification_events
                (at, message_id, user_id, job_id, ats, attempt, kind, category, gate, reason, device, detail)
            SELECT at, message_id,
                CASE WHEN kind = 'cancelled' AND reason = \(PersonalDataStore.reason) THEN varsel_user_key(user_id)
                    ELSE user_id END,
                job_id, ats, attempt, kind, category, gate, reason, device, detail
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
