package import Kernel
package import Notifications

/// A notification as the user sees it in the app.
package struct InboxItem: Sendable, Equatable {
    package var id: MessageID
    package var category: String
    package var title: String
    package var body: String
    package var deeplinkURL: String
    package var metadata: JSONValue?
    package var readAt: Timestamp?
    package var createdAt: Timestamp

    package init(
        id: MessageID,
        category: String,
        title: String,
        body: String,
        deeplinkURL: String,
        metadata: JSONValue?,
        readAt: Timestamp?,
        createdAt: Timestamp
    ) {
        self.id = id
        self.category = category
        self.title = title
        self.body = body
        self.deeplinkURL = deeplinkURL
        self.metadata = metadata
        self.readAt = readAt
        self.createdAt = createdAt
    }
}

/// What a user was sent. Every call throws `Unavailable` when the store does not answer.
package protocol Inbox: Sendable {
    /// The newest items first, and how many there are.
    func page(of user: UserID, limit: Int, offset: Int) async throws -> (items: [InboxItem], total: Int)
    /// - Returns: the item as it is now, `nil` when the user has none with that id.
    func mark(_ id: MessageID, of user: UserID, read: Bool) async throws -> InboxItem?
    func unreadCount(of user: UserID) async throws -> Int
    /// - Returns: how many were unread.
    func markAllRead(of user: UserID) async throws -> Int
}
