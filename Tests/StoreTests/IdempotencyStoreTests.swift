import Kernel
import Notifications
import PostgresClient
import Store
import TestSupport
import Testing

struct IdempotencyStoreTests {
    private let first = [UUIDBits(high: 1, low: 2), UUIDBits(high: 3, low: 4)]
    private let second = [UUIDBits(high: 5, low: 6)]

    private func begin(
        _ store: IdempotencyStore,
        fingerprint: String = "f",
        _ ids: [UUIDBits]
    ) async throws -> IdempotencyStore.Verdict {
        try await store.begin(credential: "c", key: "k", fingerprint: fingerprint, messageIDs: ids)
    }

    @Test func `a repeat meets a running request, then its answer (G10)`() async throws {
        try await withMigratedDatabase { database in
            let store = IdempotencyStore(pool: database.pool)
            #expect(try await begin(store, first) == .proceed(first))
            #expect(try await begin(store, second) == .running)
            #expect(try await begin(store, fingerprint: "g", second) == .mismatch)
            try await store.finish(credential: "c", key: "k", status: 202, response: #"{"data":1}"#)
            #expect(try await begin(store, second) == .done(status: 202, response: #"{"data":1}"#))
            #expect(try await begin(store, fingerprint: "g", second) == .mismatch)
            let other = try await store.begin(credential: "d", key: "k", fingerprint: "f", messageIDs: second)
            #expect(other == .proceed(second), "keys belong to credentials")
        }
    }

    @Test(arguments: ["release", "death"])
    func `a request that failed or died is taken up with its own ids (G10)`(end: String) async throws {
        try await withMigratedDatabase { database in
            let store = IdempotencyStore(pool: database.pool)
            #expect(try await begin(store, first) == .proceed(first))
            if end == "release" {
                try await store.release(credential: "c", key: "k")
            } else {
                _ = try await database.pool.query(
                    "UPDATE idempotency_keys SET started_at = now() - interval '2 minutes'"
                )
            }
            #expect(try await begin(store, fingerprint: "g", second) == .mismatch)
            #expect(try await begin(store, second) == .proceed(first))
            #expect(try await begin(store, second) == .running)
        }
    }

    @Test func `after a day a key is new again`() async throws {
        try await withMigratedDatabase { database in
            let store = IdempotencyStore(pool: database.pool)
            _ = try await begin(store, first)
            try await store.finish(credential: "c", key: "k", status: 202, response: "{}")
            _ = try await database.pool.query("UPDATE idempotency_keys SET created_at = now() - interval '25 hours'")
            #expect(try await begin(store, fingerprint: "g", second) == .proceed(second))
            #expect(try await begin(store, fingerprint: "g", second) == .running)
        }
    }

    @Test func `of many that begin at once one proceeds`() async throws {
        try await withMigratedDatabase { database in
            let store = IdempotencyStore(pool: database.pool)
            let verdicts = try await withThrowingTaskGroup(of: IdempotencyStore.Verdict.self) { group in
                for _ in 0..<16 { group.addTask { try await begin(store, first) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(verdicts.filter { $0 == .proceed(first) }.count == 1)
            #expect(verdicts.filter { $0 == .running }.count == 15)
        }
    }
}
