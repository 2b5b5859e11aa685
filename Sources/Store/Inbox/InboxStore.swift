package import Kernel
package import Notifications
package import PostgresClient

/// What a user was sent, newest first: rows that are sent or may have arrived (G4, G5).
package struct InboxStore: Sendable {
    /// A notification as the user sees it in the app.
    package struct Item: Sendable, Equatable {
        package let id: MessageID
        package let category: String
        package let title: String
        package let body: String
        package let deeplinkURL: String
        package let metadata: JSONValue?
        package let readAt: Timestamp?
        package let createdAt: Timestamp
    }

    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// A page, and how many items there are in all.
    package func page(
        of user: UserID,
        limit: Int,
        offset: Int
    ) async throws(PostgresError) -> (items: [Item], total: Int) {
        let rows = try await pool.query(InboxSQL.page(of: user, limit: limit, offset: offset))
        var items: [Item] = []
        var total = 0
        for row in rows {
            total = try row.int("total")
            // A page beyond the end has one row that carries the total alone.
            if try row.optionalUUID("id") != nil { items.append(try Item(row)) }
        }
        return (items, total)
    }

    package func unreadCount(of user: UserID) async throws(PostgresError) -> Int {
        try await pool.query(InboxSQL.unreadCount(of: user)).first?.int("unread") ?? 0
    }

    /// Marks one item. An item that was read keeps the time of its first reading.
    /// - Returns: the item as it is now, `nil` when the user has none with that id.
    package func mark(_ id: MessageID, of user: UserID, read: Bool) async throws(PostgresError) -> Item? {
        guard let row = try await pool.queryRetryingTransient(InboxSQL.mark(id, of: user, read: read)).first else {
            return nil
        }
        return try Item(row)
    }

    /// - Returns: how many were unread.
    package func markAllRead(of user: UserID) async throws(PostgresError) -> Int {
        try await pool.queryRetryingTransient(InboxSQL.markAllRead(of: user)).affected
    }
}

extension InboxStore.Item {
    init(_ row: PostgresRow) throws(PostgresError) {
        guard let id = MessageID(try row.uuid("id")) else {
            throw PostgresError(.decoding, message: "a message id is no UUIDv7")
        }
        self.init(
            id: id,
            category: try row.string("category"),
            title: try row.string("title"),
            body: try row.string("body"),
            deeplinkURL: try row.string("deeplink_url"),
            metadata: try row.optionalJSON("metadata"),
            readAt: try row.optionalTimestamp("read_at"),
            createdAt: try row.timestamp("created_at")
        )
    }
}
