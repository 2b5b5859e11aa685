import DeliveryAdapters
import Kernel
import PushTransport
import RedisClient
import TestSupport
import Testing

/// The shared provider token in a real Redis.
struct RedisTokenVaultTests {
    @Test func `of many processes at once one token wins, and its age is known`() async throws {
        try await withVault { vault, name, redis in
            let told = try await withThrowingTaskGroup(of: [UInt8].self) { group in
                for number in 0..<50 {
                    group.addTask {
                        try await vault.settle(
                            name,
                            candidate: [0, UInt8(number)],
                            replacing: nil,
                            lifetime: .seconds(2400)
                        ).sealed
                    }
                }
                return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
            }
            #expect(told.count == 1)
            let key = RedisTokenVault.keyPrefix + name
            _ = try await redis.send(RedisCommand(["PEXPIRE", .string(key), 2_000_000]))
            let later = try await vault.settle(name, candidate: [9], replacing: nil, lifetime: .seconds(2400))
            #expect(told.contains(later.sealed))
            #expect((.seconds(400)...(.seconds(460))).contains(later.age))
        }
    }

    @Test func `a token that is no longer wanted is replaced once`() async throws {
        try await withVault { vault, name, _ in
            func settle(_ candidate: UInt8, replacing: UInt8?) async throws -> [UInt8] {
                try await vault.settle(
                    name,
                    candidate: [candidate],
                    replacing: replacing.map { [$0] },
                    lifetime: .seconds(2400)
                ).sealed
            }
            let first = try await settle(1, replacing: nil)
            let second = try await settle(2, replacing: 1)
            // The second who complains about the first token is given the new one.
            let third = try await settle(3, replacing: 1)
            #expect([first, second, third] == [[1], [2], [2]])
        }
    }

    private func withVault(_ body: (RedisTokenVault, String, RedisClient) async throws -> Void) async throws {
        try await TestRedis.run { redis in
            let name = redis.prefix
            let result: Result<Void, any Error>
            do {
                result = .success(try await body(RedisTokenVault(redis: redis.client), name, redis.client))
            } catch {
                result = .failure(error)
            }
            try await redis.removeKeys(matching: RedisTokenVault.keyPrefix + name)
            try result.get()
        }
    }
}
