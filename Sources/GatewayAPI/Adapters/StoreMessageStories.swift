package import Notifications
package import Store

/// Rows and events in PostgreSQL.
package struct StoreMessageStories: MessageStories {
    private let store: StoryStore

    package init(_ store: StoryStore) {
        self.store = store
    }

    package func story(of message: MessageID) async throws -> MessageStory? {
        try await asking { try await store.story(of: message) }.map(MessageStory.init)
    }

    package func stories(of user: UserID, limit: Int) async throws -> [MessageStory] {
        try await asking { try await store.stories(of: user, limit: limit) }.map(MessageStory.init)
    }
}

extension MessageStory {
    fileprivate init(_ story: StoryStore.Story) {
        self.init(
            messageID: story.messageID,
            userID: story.userID,
            category: story.category,
            row: story.row.map(Row.init),
            events: story.events,
            scheduledFor: story.scheduledFor
        )
    }
}

extension MessageStory.Row {
    fileprivate init(_ row: StoryStore.Story.Row) {
        self.init(
            status: row.status,
            reason: row.reason,
            weekKey: row.weekKey,
            createdAt: row.createdAt,
            sentAt: row.sentAt,
            readAt: row.readAt,
            deliveries: row.deliveries
        )
    }
}
