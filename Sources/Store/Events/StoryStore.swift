package import Kernel
package import Notifications
package import PostgresClient

/// What became of messages: rows and events together, for the question "why did this user get nothing?" (E8).
package struct StoryStore: Sendable {
    /// One message's row, where it got that far, and its events.
    package struct Story: Sendable {
        /// What the row says.
        package struct Row: Sendable {
            package let status: String
            package let reason: String?
            package let weekKey: String?
            package let createdAt: Timestamp
            package let sentAt: Timestamp?
            package let readAt: Timestamp?
            /// What devices answered, as stored.
            package let deliveries: JSONValue
        }

        package let messageID: MessageID
        package var userID: String
        package var category: String?
        package var row: Row?
        /// The oldest first.
        package var events: [DeliveryEvent]
        /// When it is due, for one that was handed in with a time ahead.
        package var scheduledFor: Timestamp?
    }

    /// More events than this are not read for one question.
    private static let eventLimit = 5000

    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// - Returns: `nil` when neither a row nor an event nor a schedule is known.
    package func story(of message: MessageID) async throws(PostgresError) -> Story? {
        let known = try await stories([message], user: nil).first
        guard let schedule = try await pool.query(ScheduleSQL.dueTime(of: message)).first else { return known }
        let waiting = Story(
            messageID: message,
            userID: try schedule.string("user_id"),
            category: try schedule.string("category"),
            row: nil,
            events: []
        )
        var story = known ?? waiting
        story.scheduledFor = try schedule.timestamp("due_at")
        return story
    }

    /// The newest messages of a user first.
    package func stories(of user: UserID, limit: Int) async throws(PostgresError) -> [Story] {
        var ids: [MessageID] = []
        for row in try await pool.query(StorySQL.newest(of: user, limit: limit)) {
            if let id = MessageID(try row.uuid("message_id")) { ids.append(id) }
        }
        return try await stories(ids, user: user.rawValue)
    }

    /// Appends events that stand for themselves; those of a delivery are recorded together with its outcome.
    package func append(_ events: [DeliveryEvent]) async throws(PostgresError) {
        guard !events.isEmpty else { return }
        _ = try await pool.queryRetryingTransient(StorySQL.append(events))
    }

    private func stories(_ ids: [MessageID], user: String?) async throws(PostgresError) -> [Story] {
        guard !ids.isEmpty else { return [] }
        var stories: [MessageID: Story] = [:]
        for row in try await pool.query(StorySQL.rows(ids, user: user)) {
            guard let id = MessageID(try row.uuid("id")) else { continue }
            stories[id] = Story(
                messageID: id,
                userID: try row.string("user_id"),
                category: try row.string("category"),
                row: try Story.Row(row),
                events: []
            )
        }
        for row in try await pool.query(StorySQL.events(ids, user: user, limit: Self.eventLimit)) {
            guard let event = try DeliveryEvent(row) else { continue }
            let id = event.messageID
            var story =
                stories[id]
                ?? Story(messageID: id, userID: event.userID, category: event.category, row: nil, events: [])
            story.category = story.category ?? event.category
            story.events.append(event)
            stories[id] = story
        }
        return ids.compactMap { stories[$0] }
    }
}

extension StoryStore.Story.Row {
    init(_ row: PostgresRow) throws(PostgresError) {
        self.init(
            status: try row.string("status"),
            reason: try row.optionalString("reason"),
            weekKey: try row.optionalString("week_key"),
            createdAt: try row.timestamp("created_at"),
            sentAt: try row.optionalTimestamp("sent_at"),
            readAt: try row.optionalTimestamp("read_at"),
            deliveries: try row.json("deliveries")
        )
    }
}

extension DeliveryEvent {
    /// Reads a row of `StorySQL.events`, `nil` for a kind that a newer build wrote.
    init?(_ row: PostgresRow) throws(PostgresError) {
        guard let kind = Kind(rawValue: try row.string("kind")), let id = MessageID(try row.uuid("message_id")) else {
            return nil
        }
        self.init(
            kind: kind,
            messageID: id,
            userID: try row.string("user_id"),
            category: try row.optionalString("category"),
            jobID: try row.string("job_id"),
            attemptsStarted: try row.int("ats"),
            attempt: try row.int("attempt"),
            at: try row.timestamp("at"),
            gate: try row.optionalString("gate"),
            reason: try row.optionalString("reason"),
            device: try row.optionalString("device"),
            detail: try row.optionalJSON("detail")
        )
    }
}
