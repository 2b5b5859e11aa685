import Kernel
import Notifications
import PostgresClient
import TestSupport
import Testing

@testable import Store

struct InboxStoreTests {
    /// Inserts one message for each status, the newest last, and returns their ids.
    private func fill(_ database: TestDatabase, user: String, statuses: [MessageStatus]) async throws -> [MessageID] {
        let start = SystemWallClock().now - .seconds(statuses.count)
        let ids = statuses.indices.map {
            MessageID(at: start + .seconds($0), entropy: [UInt8](repeating: 7, count: 10))
        }
        _ = try await database.pool.query(
            """
            INSERT INTO notification_messages (id, user_id, category, title, body, deeplink_url, metadata, job_id, status,
                enqueued_at, due_at)
            SELECT id, \(user), 'campaign', 'Title', status, 'im://home', '{"a": 1}', id::text, status, now(), now()
            FROM unnest(\(ids.map(\.bits)), \(statuses.map(\.rawValue))) AS r(id, status)
            """
        )
        return ids
    }

    @Test func `pages hold what was sent or may have arrived, the newest first (G4)`() async throws {
        try await withMigratedDatabase { database in
            let user = try #require(UserID("u"))
            let ids = try await fill(
                database,
                user: "u",
                statuses: [.sent, .pending, .unknown, .failed, .sent, .suppressed, .cancelled, .expired]
            )
            let store = InboxStore(pool: database.pool)
            let (first, total) = try await store.page(of: user, limit: 2, offset: 0)
            #expect(total == 3)
            #expect(first.map(\.id) == [ids[4], ids[2]])
            #expect(first.first?.metadata == ["a": 1])
            #expect(first.first?.title == "Title")
            let (second, _) = try await store.page(of: user, limit: 2, offset: 2)
            #expect(second.map(\.id) == [ids[0]])
            let (beyond, stillTotal) = try await store.page(of: user, limit: 2, offset: 4)
            #expect(beyond.isEmpty && stillTotal == 3)
            let stranger = try #require(UserID("stranger"))
            let (none, zero) = try await store.page(of: stranger, limit: 2, offset: 0)
            #expect(none.isEmpty && zero == 0)
        }
    }

    @Test func `an item is read, unread and only by its owner (G5)`() async throws {
        try await withMigratedDatabase { database in
            let (user, other) = (try #require(UserID("u")), try #require(UserID("other")))
            let ids = try await fill(database, user: "u", statuses: [.sent, .pending])
            let store = InboxStore(pool: database.pool)
            #expect(try await store.unreadCount(of: user) == 1)
            let read = try #require(try await store.mark(ids[0], of: user, read: true))
            let again = try await store.mark(ids[0], of: user, read: true)
            #expect(read.readAt != nil && read.readAt == again?.readAt)
            #expect(try await store.unreadCount(of: user) == 0)
            let unread = try await store.mark(ids[0], of: user, read: false)
            #expect(unread?.id == ids[0] && unread?.readAt == nil)
            #expect(try await store.mark(ids[0], of: other, read: true) == nil)
            #expect(try await store.mark(ids[1], of: user, read: true) == nil, "a pending row is not in the inbox yet")
        }
    }

    @Test func `all are marked read, and counted`() async throws {
        try await withMigratedDatabase { database in
            let user = try #require(UserID("u"))
            let ids = try await fill(database, user: "u", statuses: [.sent, .sent, .unknown, .failed])
            _ = try await fill(database, user: "other", statuses: [])
            let store = InboxStore(pool: database.pool)
            _ = try await store.mark(ids[0], of: user, read: true)
            #expect(try await store.markAllRead(of: user) == 2)
            #expect(try await store.markAllRead(of: user) == 0)
            #expect(try await store.unreadCount(of: user) == 0)
        }
    }

    @Test func `a message whose id carries an instant to come is in the inbox like any other (G4, P6)`() async throws {
        try await withMigratedDatabase { database in
            let user = try #require(UserID("u"))
            _ = try await fill(database, user: "u", statuses: [.sent])
            _ = try await database.pool.query(
                "UPDATE notification_messages SET id = \(MessageID(at: SystemWallClock().now + .seconds(26 * 86_400), entropy: [1]).bits)"
            )
            let store = InboxStore(pool: database.pool)
            let (items, total) = try await store.page(of: user, limit: 2, offset: 0)
            #expect(items.count == 1 && total == 1)
            #expect(try await store.unreadCount(of: user) == 1)
            #expect(try await store.markAllRead(of: user) == 1)
            let stories = try await StoryStore(pool: database.pool).stories(of: user, limit: 5)
            #expect(stories.count == 1)
        }
    }

    @Test func `a page reads none of the partitions that lie ready for coming months (O3)`() async throws {
        try await withMigratedDatabase { database in
            let user = try #require(UserID("u"))
            let statement = InboxSQL.page(of: user, limit: 20, offset: 0).text
            let rows = try await database.pool.transaction { transaction in
                _ = try await transaction.query("PREPARE inbox AS \(unescaped: statement)")
                return try await transaction.query("EXPLAIN (COSTS OFF) EXECUTE inbox('u', 'u', 20, 0)")
            }
            let plan = try rows.map { row in try row.string("QUERY PLAN") }.joined(separator: "\n")
            #expect(plan.contains("Subplans Removed: "), "\(plan)")
        }
    }
}
