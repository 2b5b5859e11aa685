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
}
