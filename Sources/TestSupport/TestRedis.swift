import Foundation
import Kernel
package import Observability
package import RedisClient

/// The shared Redis server of a test run, with a key prefix of the test's own.
package final class TestRedis: Sendable {
    package let url: RedisURL
    package let client: RedisClient
    /// Begins every key of this test. Holds no braces and no colon.
    package let prefix: String

    /// - Throws: when VARSEL_TEST_REDIS_URL is missing. A test that needs a server fails without one; it is never skipped.
    package init(telemetry: Telemetry = .silent()) throws {
        guard let text = ProcessInfo.processInfo.environment["VARSEL_TEST_REDIS_URL"] else {
            throw TestServerError("VARSEL_TEST_REDIS_URL is not set; scripts/test starts a server and sets it")
        }
        url = try RedisURL(parsing: text)
        client = RedisClient(url: url, options: .init(label: "test"), telemetry: telemetry)
        prefix = "t\(String(UInt64.random(in: 0...UInt64.max), radix: 36))"
    }

    /// Runs a test with a prefix of its own and removes the keys afterwards.
    package static func run<Value>(_ body: (TestRedis) async throws -> Value) async throws -> Value {
        let redis = try TestRedis()
        let result: Result<Value, any Error>
        do { result = .success(try await body(redis)) } catch { result = .failure(error) }
        try await redis.cleanUp()
        await redis.client.close()
        return try result.get()
    }

    /// Removes every key that begins with the prefix.
    package func cleanUp() async throws {
        try await removeKeys(matching: "\(prefix)*")
    }

    /// Removes every key that matches a glob pattern.
    package func removeKeys(matching pattern: String) async throws {
        var cursor = "0"
        repeat {
            let answer = try await client.send(
                RedisCommand(["SCAN", .string(cursor), "MATCH", .string(pattern), "COUNT", 1000])
            )
            let parts = try answer.requireArray("SCAN")
            cursor = try parts[0].requireString("SCAN")
            let keys = try parts[1].requireArray("SCAN").compactMap(\.string)
            if !keys.isEmpty { _ = try await client.send(RedisCommand(["UNLINK"] + keys.map(RedisArgument.string))) }
        } while cursor != "0"
    }
}

/// Why a test cannot have its server.
package struct TestServerError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
