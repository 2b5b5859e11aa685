package import Kernel
package import Notifications
package import PostgresClient

/// Writes message rows in groups. A row that the database refuses is found by halving the group and refused alone.
package struct MessageStore: Sendable {
    /// A row to be written as `pending`.
    package struct Row: Sendable {
        package let id: MessageID
        package let userID: UserID
        package let category: String
        package let title: String
        package let body: String
        package let deeplinkURL: String
        package let metadata: JSONValue?
        package let sourceEntityID: String?
        package let batchReference: String?
        package let language: String?
        package let jobID: String
        package let weekKey: String?
        package let isCapOpen: Bool
        /// Whether it is a test send, which is nothing for the inbox.
        package let isTest: Bool
        package let enqueuedAt: Timestamp
        package let dueAt: Timestamp

        package init(
            id: MessageID,
            userID: UserID,
            category: String,
            title: String,
            body: String,
            deeplinkURL: String,
            metadata: JSONValue?,
            sourceEntityID: String?,
            batchReference: String?,
            language: String?,
            jobID: String,
            weekKey: String?,
            isCapOpen: Bool,
            enqueuedAt: Timestamp,
            dueAt: Timestamp,
            isTest: Bool = false
        ) {
            self.id = id
            self.userID = userID
            self.category = category
            self.title = title
            self.body = body
            self.deeplinkURL = deeplinkURL
            self.metadata = metadata
            self.sourceEntityID = sourceEntityID
            self.batchReference = batchReference
            self.language = language
            self.jobID = jobID
            self.weekKey = weekKey
            self.isCapOpen = isCapOpen
            self.enqueuedAt = enqueuedAt
            self.dueAt = dueAt
            self.isTest = isTest
        }
    }

    /// What became of a row.
    package enum Result: Sendable, Equatable {
        case written
        case existed
        /// SQLSTATE class 22 or 23: this row would never succeed.
        case refused(sqlState: String)
    }

    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Inserts new rows. Rows named in `reopening` exist as `failed`, or as `pending` without a slot, and become `pending` with
    /// the week key given here. What devices answered before a message failed is forgotten, and they begin anew: except that one took
    /// it, may have, or is gone.
    package func write(_ rows: [Row], reopening: Set<MessageID>) async throws(PostgresError) -> [Result] {
        guard !rows.isEmpty else { return [] }
        var results: [MessageID: Result] = [:]
        let reopened = rows.filter { reopening.contains($0.id) }
        let inserted = rows.filter { !reopening.contains($0.id) }
        if !reopened.isEmpty {
            for id in try await ids(of: Self.reopen(reopened)) { results[id] = .written }
        }
        try await insert(inserted[...], into: &results)
        return rows.map { results[$0.id] ?? .existed }
    }

    private func insert(_ rows: ArraySlice<Row>, into results: inout [MessageID: Result]) async throws(PostgresError) {
        guard !rows.isEmpty else { return }
        do {
            for id in try await ids(of: Self.insert(rows)) { results[id] = .written }
        } catch  where error.isDataFault {
            guard rows.count > 1, let first = rows.first else {
                for row in rows { results[row.id] = .refused(sqlState: error.sqlState ?? "22000") }
                return
            }
            _ = first
            let middle = rows.startIndex + rows.count / 2
            try await insert(rows[..<middle], into: &results)
            try await insert(rows[middle...], into: &results)
        }
    }

    private func ids(of statement: SQL) async throws(PostgresError) -> [MessageID] {
        var ids: [MessageID] = []
        for row in try await pool.queryRetryingTransient(statement) {
            if let id = MessageID(try row.uuid("id")) { ids.append(id) }
        }
        return ids
    }

    package static func insert(_ rows: ArraySlice<Row>) -> SQL {
        """
        INSERT INTO notification_messages (id, user_id, category, title, body, deeplink_url, metadata, source_entity_id,
            batch_ref, language, job_id, week_key, cap_open, enqueued_at, due_at, is_test, status)
        SELECT id, user_id, category, title, body, deeplink_url, metadata, source_entity_id, batch_ref, language, job_id,
            week_key, cap_open, enqueued_at, due_at, is_test, 'pending'
        FROM unnest(
            \(rows.map(\.id.bits)), \(rows.map(\.userID.rawValue)), \(rows.map(\.category)), \(rows.map(\.title)),
            \(rows.map(\.body)), \(rows.map(\.deeplinkURL)), \(rows.map(\.metadata)), \(rows.map(\.sourceEntityID)),
            \(rows.map(\.batchReference)), \(rows.map(\.language)), \(rows.map(\.jobID)), \(rows.map(\.weekKey)),
            \(rows.map(\.isCapOpen)), \(rows.map(\.enqueuedAt)), \(rows.map(\.dueAt)),
            \(rows.map(\.isTest))
        ) AS r(id, user_id, category, title, body, deeplink_url, metadata, source_entity_id, batch_ref, language, job_id,
            week_key, cap_open, enqueued_at, due_at, is_test)
        ON CONFLICT DO NOTHING
        RETURNING id
        """
    }

    static func reopen(_ rows: [Row]) -> SQL {
        """
        UPDATE notification_messages m
        SET status = 'pending', reason = NULL, week_key = r.week_key, cap_open = r.cap_open, updated_at = now(),
            deliveries = CASE m.status WHEN 'failed' THEN (
                SELECT coalesce(jsonb_object_agg(key, value), '{}'::jsonb) FROM jsonb_each(m.deliveries)
                WHERE value ->> 's' IN ('accepted', 'unknown') OR value ? 'g'
            ) ELSE m.deliveries END
        FROM unnest(\(rows.map(\.id.bits)), \(rows.map(\.weekKey)), \(rows.map(\.isCapOpen))) AS r(id, week_key, cap_open)
        WHERE m.id = r.id AND m.status IN ('failed', 'pending')
        RETURNING m.id
        """
    }
}
