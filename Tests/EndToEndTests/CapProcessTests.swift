import Foundation
import Kernel
import Observability
import RateLimiter
import RedisClient
import TestSupport
import Testing

/// Weekly caps that several processes take from at once (R1, R2).
@Suite struct CapProcessTests {
    private static let scripts = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../Sources/RateLimiter/Lua").standardized.path
    private static let week = "2026-W49"
    private static let categories = ["reminder", "campaign", "lifecycle"]
    private static let users = 12

    @Test(.timeLimit(.minutes(2)), arguments: [(1, 4), (2, 2), (3, 5)])
    func `thousands of takes and returns by several processes never exceed a cap, and leave no place unused (R1, R2)`(
        cap: Int,
        overall: Int
    ) async throws {
        try await TestRedis.run { redis in
            let peer = try PythonPeer()
            let url = ProcessInfo.processInfo.environment["VARSEL_TEST_REDIS_URL"] ?? ""
            let limiter = WeeklyLimiter(
                url: redis.url,
                layout: .standalone,
                deadline: .seconds(30),
                telemetry: .silent()
            )
            async let others = peer.run(
                "cap_takers.py",
                [
                    url, Self.scripts, redis.prefix, "\(Self.users)", Self.week, "400", "4", "\(cap)", "\(overall)",
                ]
            )
            let (taken, givenBack) = try await takeAndReturn(limiter, redis.prefix, cap: cap, overall: overall)
            let told = try await JSONValue(parsing: Array(others.utf8))
            // All that is left is asked for once more, by this process.
            let last = await limiter.take(everyPlace(redis.prefix, cap: cap, overall: overall)).count { $0 == .taken }
            await limiter.close()
            #expect(told["above"] == 0, "\(told)")
            let all = Int(told["taken"]?.integerValue ?? 0) + taken + last
            let back = Int(told["given_back"]?.integerValue ?? 0) + givenBack
            #expect((told["taken"]?.integerValue ?? 0) + (told["refused"]?.integerValue ?? 0) > 12_000, "\(told)")
            #expect(back > 100)
            var held = 0
            for user in 0..<Self.users {
                let whole = try await length("notif:v2:global:\(redis.prefix)\(user):\(Self.week)", redis)
                #expect(whole == min(overall, cap * Self.categories.count), "user \(user)")
                var sum = 0
                for category in Self.categories {
                    let count = try await length("notif:v2:cat:\(redis.prefix)\(user):\(category):\(Self.week)", redis)
                    #expect(count <= cap, "user \(user), \(category)")
                    sum += count
                }
                #expect(sum == whole, "user \(user): both keys or neither")
                held += whole
            }
            #expect(held == all - back)
            try await redis.removeKeys(matching: "notif:v2:*\(redis.prefix)*")
        }
    }

    /// Takes a slot for a hundred messages at a time and gives every second one back.
    private func takeAndReturn(_ limiter: WeeklyLimiter, _ prefix: String, cap: Int, overall: Int) async throws
        -> (taken: Int, givenBack: Int)
    {
        var taken = 0
        var givenBack = 0
        for round in 0..<50 {
            let requests = (0..<100).map { index in
                request("own-\(round)-\(index)", prefix, index % Self.users, Self.categories[index % 3], cap, overall)
            }
            let results = await limiter.take(requests)
            let mine = zip(requests, results).filter { $0.1 == .taken }.map(\.0)
            taken += mine.count
            let returned = mine.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
            givenBack += try await limiter.giveBack(returned).count { $0 }
        }
        return (taken, givenBack)
    }

    private func everyPlace(_ prefix: String, cap: Int, overall: Int) -> [SlotRequest] {
        (0..<Self.users).flatMap { user in
            Self.categories.flatMap { category in
                (0..<cap).map { request("last-\(user)-\(category)-\($0)", prefix, user, category, cap, overall) }
            }
        }
    }

    private func request(
        _ message: String,
        _ prefix: String,
        _ user: Int,
        _ category: String,
        _ cap: Int,
        _ overall: Int
    ) -> SlotRequest {
        SlotRequest(
            userID: "\(prefix)\(user)",
            categoryID: category,
            weekKey: Self.week,
            messageID: message,
            categoryCap: cap,
            globalCap: overall
        )
    }

    private func length(_ key: String, _ redis: TestRedis) async throws -> Int {
        try await redis.client.send(RedisCommand(["HLEN", .string(key)])).requireInt("HLEN")
    }
}
