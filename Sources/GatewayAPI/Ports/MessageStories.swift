package import Kernel
package import Notifications

/// A message's row and events: the answer to "why did this user get nothing?".
package struct MessageStory: Sendable {
    /// The row, `nil` for a message that was suppressed before it was written.
    package struct Row: Sendable {
        package var status: String
        package var reason: String?
        package var weekKey: String?
        package var createdAt: Timestamp
        package var sentAt: Timestamp?
        package var readAt: Timestamp?
        /// What devices answered, as stored.
        package var deliveries: JSONValue

        package init(
            status: String,
            reason: String?,
            weekKey: String?,
            createdAt: Timestamp,
            sentAt: Timestamp?,
            readAt: Timestamp?,
            deliveries: JSONValue
        ) {
            self.status = status
            self.reason = reason
            self.weekKey = weekKey
            self.createdAt = createdAt
            self.sentAt = sentAt
            self.readAt = readAt
            self.deliveries = deliveries
        }
    }

    package var messageID: MessageID
    package var userID: String
    package var category: String?
    package var row: Row?
    /// The oldest first.
    package var events: [DeliveryEvent]
    /// When it is due, for one that was handed in with a time ahead; told for a single message only.
    package var scheduledFor: Timestamp?

    package init(
        messageID: MessageID,
        userID: String,
        category: String?,
        row: Row?,
        events: [DeliveryEvent],
        scheduledFor: Timestamp? = nil
    ) {
        self.messageID = messageID
        self.userID = userID
        self.category = category
        self.row = row
        self.events = events
        self.scheduledFor = scheduledFor
    }
}

/// Reads what became of messages. Every call throws `Unavailable` when the store does not answer.
package protocol MessageStories: Sendable {
    /// - Returns: `nil` when neither a row nor an event nor a schedule is known.
    func story(of message: MessageID) async throws -> MessageStory?
    /// The newest messages of a user first.
    func stories(of user: UserID, limit: Int) async throws -> [MessageStory]
}
