import Kernel
import Notifications
import PostgresClient
import Store
import TestSupport
import Testing

struct CancellationStoreTests {
    @Test(arguments: CancellationStore.Scope.allCases)
    func `what was called back is found by the gates (gate 0)`(scope: CancellationStore.Scope) async throws {
        try await withMigratedDatabase { database in
            let now = SystemWallClock().now
            let id = MessageIDGenerator(clock: SystemWallClock()).next()
            let key =
                switch scope {
                case .user: "u"
                case .source: "cmp:1"
                case .message: id.description
                }
            let store = CancellationStore(pool: database.pool)
            let query = RecipientStore.Query(
                messageID: id,
                userID: try #require(UserID("u")),
                category: "campaign",
                sourceEntityID: "cmp:1",
                enqueuedAt: now - .seconds(60),
                openingMinute: nil
            )
            func reason() async throws -> String? {
                try await RecipientStore(pool: database.pool).recipients(for: [query]).1.first?.cancellationReason
            }
            #expect(try await reason() == nil)
            try await store.cancel(scope, key: key, before: now, reason: "stopped")
            #expect(try await reason() == "stopped")
            // An earlier moment takes nothing back.
            try await store.cancel(scope, key: key, before: now - .seconds(3600), reason: "earlier")
            #expect(try await reason() == "stopped")
        }
    }

    @Test func `an erased user is called back by a hash alone, and is welcome again later`() async throws {
        try await withMigratedDatabase { database in
            let now = SystemWallClock().now
            let user = try #require(UserID("erased@example.org"))
            try await CancellationStore(pool: database.pool).cancelUser(user, before: now, reason: "erased")
            let rows = try await database.pool.query("SELECT key FROM cancellations")
            let key = try #require(try rows.first?.string("key"))
            #expect(key.count == 64 && !key.contains("erased"))
            func reason(of user: UserID, enqueued: Timestamp) async throws -> String? {
                let query = RecipientStore.Query(
                    messageID: MessageIDGenerator(clock: SystemWallClock()).next(),
                    userID: user,
                    category: "lifecycle",
                    sourceEntityID: nil,
                    enqueuedAt: enqueued,
                    openingMinute: nil
                )
                return try await RecipientStore(pool: database.pool).recipients(for: [query]).1.first?
                    .cancellationReason
            }
            #expect(try await reason(of: user, enqueued: now - .seconds(1)) == "erased")
            #expect(try await reason(of: user, enqueued: now + .seconds(1)) == nil)
            let other = try #require(UserID("somebody"))
            #expect(try await reason(of: other, enqueued: now - .seconds(1)) == nil)
        }
    }
}
