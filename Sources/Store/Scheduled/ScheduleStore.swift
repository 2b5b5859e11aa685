package import Kernel
package import Notifications
package import PostgresClient

/// Notifications that were handed in with a time ahead, for whoever wants them called back or moved (G10).
package struct ScheduleStore: Sendable {
    /// One notification with a time ahead.
    package struct Entry: Sendable, Equatable {
        package let messageID: MessageID
        package let userID: UserID
        package let category: String
        package let dueAt: Timestamp

        package init(messageID: MessageID, userID: UserID, category: String, dueAt: Timestamp) {
            self.messageID = messageID
            self.userID = userID
            self.category = category
            self.dueAt = dueAt
        }
    }

    /// What is known of one.
    package struct Schedule: Sendable, Equatable {
        /// Every id that it has or had, the newest first. The job is queued under one of them.
        package let ids: [MessageID]
        package let userID: String
        package let category: String
        package let isCancelled: Bool

        package init(ids: [MessageID], userID: String, category: String, isCancelled: Bool) {
            self.ids = ids
            self.userID = userID
            self.category = category
            self.isCancelled = isCancelled
        }
    }

    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Remembers notifications before they are enqueued. Repeating it is harmless.
    package func record(_ entries: [Entry], credential: String) async throws(PostgresError) {
        guard !entries.isEmpty else { return }
        _ = try await pool.queryRetryingTransient(ScheduleSQL.record(entries, credential: credential))
    }

    /// - Returns: `nil` for one that is not known, or was handed in with another credential.
    package func schedule(of id: MessageID, credential: String) async throws(PostgresError) -> Schedule? {
        let rows = try await pool.query(ScheduleSQL.find(id, credential: credential))
        guard let first = rows.first else { return nil }
        var ids: [MessageID] = []
        var isCancelled = false
        for row in rows {
            if let id = MessageID(try row.uuid("message_id")) { ids.append(id) }
            if try row.bool("cancelled") { isCancelled = true }
        }
        return Schedule(
            ids: ids,
            userID: try first.string("user_id"),
            category: try first.string("category"),
            isCancelled: isCancelled
        )
    }

    /// Remembers the id that a notification is about to get, before its job is moved.
    /// - Returns: whether the notification is there and was not called back.
    package func addMove(of id: MessageID, to newID: MessageID, due: Timestamp) async throws(PostgresError) -> Bool {
        try await pool.queryRetryingTransient(ScheduleSQL.addMove(of: id, to: newID, due: due)).affected > 0
    }

    /// Calls messages back: what is still queued under these ids ends as cancelled at gate 0.
    /// - Parameters:
    ///   - moment: later than the creation of any job with these ids.
    ///   - reason: what the engine's event will say.
    ///   - isFinal: whether the notification as a whole is called back, and not only ids that it no longer has.
    ///   - events: what is to be told of it beside that.
    package func callBack(
        _ ids: [MessageID],
        before moment: Timestamp,
        reason: String,
        isFinal: Bool,
        events: [DeliveryEvent]
    ) async throws {
        try await retryingTransient {
            try await pool.transaction { transaction in
                for id in ids.sorted() {
                    _ = try await transaction.query(
                        CancellationStore.cancel(.message, key: id.description, before: moment, reason: reason)
                    )
                }
                if isFinal { _ = try await transaction.query(ScheduleSQL.markCancelled(ids)) }
                if !events.isEmpty { _ = try await transaction.query(StorySQL.append(events)) }
            }
        }
    }

    /// Whether any of these messages was written or has ended.
    package func hasBegun(_ ids: [MessageID]) async throws(PostgresError) -> Bool {
        try await pool.query(ScheduleSQL.hasBegun(ids)).first?.bool("begun") ?? false
    }
}
