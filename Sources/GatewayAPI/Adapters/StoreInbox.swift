package import Notifications
package import Store

/// The inbox in PostgreSQL.
package struct StoreInbox: Inbox {
    private let store: InboxStore

    package init(_ store: InboxStore) {
        self.store = store
    }

    package func page(of user: UserID, limit: Int, offset: Int) async throws -> (items: [InboxItem], total: Int) {
        let page = try await asking { try await store.page(of: user, limit: limit, offset: offset) }
        return (page.items.map(InboxItem.init), page.total)
    }

    package func mark(_ id: MessageID, of user: UserID, read: Bool) async throws -> InboxItem? {
        try await asking { try await store.mark(id, of: user, read: read) }.map(InboxItem.init)
    }

    package func unreadCount(of user: UserID) async throws -> Int {
        try await asking { try await store.unreadCount(of: user) }
    }

    package func markAllRead(of user: UserID) async throws -> Int {
        try await asking { try await store.markAllRead(of: user) }
    }
}

extension InboxItem {
    fileprivate init(_ item: InboxStore.Item) {
        self.init(
            id: item.id,
            category: item.category,
            title: item.title,
            body: item.body,
            deeplinkURL: item.deeplinkURL,
            metadata: item.metadata,
            readAt: item.readAt,
            createdAt: item.createdAt
        )
    }
}
