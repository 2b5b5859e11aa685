import Kernel
import Observability
import RedisClient
import TestSupport

@testable import RateLimiter

/// A limiter on a server, with user ids of the test's own.
struct LimiterFixture: Sendable {
    let limiter: WeeklyLimiter
    let client: RedisClient
    let layout: KeyLayout
    let user: String

    static let week = "2026-W49"
    static let categories = ["reminder", "lifecycle", "campaign"]

    /// Runs a test with keys of both layouts. All slots of a one-node cluster lie on that node.
    static func run(_ layout: KeyLayout, _ body: (LimiterFixture) async throws -> Void) async throws {
        switch layout {
        case .standalone:
            try await TestRedis.run { redis in
                try await run(layout, url: redis.url, client: redis.client, user: redis.prefix, body)
                try await redis.removeKeys(matching: "notif:v2:*\(redis.prefix)*")
            }
        case .cluster:
            try await PrivateRedis.run(settings: [
                "--cluster-enabled", "yes", "--port", "\(freePort())", "--cluster-port", "\(freePort())",
            ]) { server in
                let client = RedisClient(url: server.url, telemetry: .silent())
                _ = try await client.send(RedisCommand(["CLUSTER", "ADDSLOTSRANGE", 0, 16_383]))
                while try await !client.send(RedisCommand(["CLUSTER", "INFO"])).requireString("CLUSTER INFO")
                    .contains("cluster_state:ok")
                { try await Task.sleep(for: .milliseconds(10)) }
                try await run(layout, url: server.url, client: client, user: "u", body)
                await client.close()
            }
        }
    }

    private static func run(
        _ layout: KeyLayout,
        url: RedisURL,
        client: RedisClient,
        user: String,
        _ body: (LimiterFixture) async throws -> Void
    ) async throws {
        // The machine that runs the tests may be busy; the deadline has tests of its own.
        let limiter = WeeklyLimiter(url: url, layout: layout, deadline: .seconds(10), telemetry: .silent())
        let fixture = LimiterFixture(limiter: limiter, client: client, layout: layout, user: user)
        let result: Result<Void, any Error>
        do { result = .success(try await body(fixture)) } catch { result = .failure(error) }
        await limiter.close()
        try result.get()
    }

    func request(
        _ message: String,
        user number: Int = 0,
        category: String = "reminder",
        week: String = week,
        cap: Int = 1,
        global: Int? = 4
    ) -> SlotRequest {
        SlotRequest(
            userID: "\(user)\(number)",
            categoryID: category,
            weekKey: week,
            messageID: message,
            categoryCap: cap,
            globalCap: global
        )
    }

    /// Gives slots back.
    func giveBack(_ requests: SlotRequest...) async throws -> [Bool] {
        try await limiter.giveBack(requests)
    }

    func usage(user number: Int = 0, week: String = week) async throws -> SlotUsage {
        try await limiter.usage(userID: "\(user)\(number)", weekKey: week, categoryIDs: Self.categories)
    }

    /// A name of a key as the contract spells it.
    func key(_ kind: String, user number: Int = 0) -> RedisArgument {
        let user = layout == .cluster ? "{\(user)\(number)}" : "\(user)\(number)"
        return kind == "global" ? "notif:v2:global:\(user):2026-W49" : "notif:v2:cat:\(user):\(kind):2026-W49"
    }

    func command(_ parts: RedisArgument...) async throws -> RedisReply {
        try await client.send(RedisCommand(parts))
    }
}
