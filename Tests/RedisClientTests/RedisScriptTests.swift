import TestSupport
import Testing

@testable import RedisClient

struct RedisScriptTests {
    @Test(arguments: [
        ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
        ),
        (String(repeating: "a", count: 1000), "291e9a6c66994949b57ba5e650361e98fc36b1ba"),
    ])
    func `the digest is SHA-1`(text: String, expected: String) {
        #expect(SHA1.hex(text.utf8) == expected)
    }

    @Test func `a script runs when Redis does not know it, and again when it does`() async throws {
        try await TestRedis.run { redis in
            let script = RedisScript(name: "echo", text: "return {KEYS[1], ARGV[1]} -- \(redis.prefix)")
            for _ in 0..<2 {
                let reply = try await redis.client.run(script, keys: ["k"], arguments: ["a"])
                #expect(reply == .array([.bulk(Array("k".utf8)), .bulk(Array("a".utf8))]))
            }
            #expect(
                try await redis.client.send(RedisCommand(["SCRIPT", "EXISTS", .string(script.digest)])).array == [
                    .integer(1)
                ]
            )
        }
    }

    @Test func `scripts run in one pipeline, each with its own answer`() async throws {
        try await TestRedis.run { redis in
            let script = RedisScript(
                name: "even",
                text:
                    "if ARGV[1] % 2 == 1 then return redis.error_reply('ODD one') end return tonumber(ARGV[1]) -- \(redis.prefix)"
            )
            let calls = (0..<4).map { (keys: [RedisArgument](), arguments: [RedisArgument($0)]) }
            let replies = try await redis.client.runEach(script, calls: calls)
            #expect(replies == [.integer(0), .error("ODD one"), .integer(2), .error("ODD one")])
        }
    }

    @Test func `an error of a script is thrown with its code`() async throws {
        try await TestRedis.run { redis in
            let script = RedisScript(name: "refuse", text: "return redis.error_reply('REFUSED because')")
            let error = await #expect(throws: RedisError.self) {
                try await redis.client.run(script, keys: [], arguments: [])
            }
            #expect(error?.serverCode == "REFUSED")
        }
    }
}
