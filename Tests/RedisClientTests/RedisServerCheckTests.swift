import Kernel
import Observability
import TestSupport
import Testing

@testable import RedisClient

struct RedisServerCheckTests {
    private static func info(version: String = "7.0.15", policy: String = "noeviction", aof: Int = 1) -> String {
        "# Server\r\nredis_version:\(version)\r\nredis_mode:standalone\r\n# Memory\r\nmaxmemory_policy:\(policy)\r\naof_enabled:\(aof)\r\n"
    }

    @Test func `a fit server passes without a warning`() throws {
        let check = try RedisServerCheck(info: Self.info())
        #expect(check.version == "7.0.15")
        #expect(!check.isCluster)
        #expect(check.warnings.isEmpty)
    }

    @Test(arguments: ["5.0.7", "6.0.16", "6.1.0", "unknown"])
    func `an old server is refused`(version: String) {
        let error = #expect(throws: RedisError.self) { try RedisServerCheck(info: Self.info(version: version)) }
        #expect(error?.code == .unfitServer)
    }

    @Test(arguments: ["allkeys-lru", "volatile-ttl", ""])
    func `a server that may evict is refused`(policy: String) {
        let error = #expect(throws: RedisError.self) { try RedisServerCheck(info: Self.info(policy: policy)) }
        #expect(error?.code == .unfitServer)
        #expect(error?.message.contains("noeviction") == true)
    }

    @Test func `a server without appendonly is warned about`() throws {
        #expect(try RedisServerCheck(info: Self.info(aof: 0)).warnings.count == 1)
    }

    @Test func `a real server is asked`() async throws {
        try await PrivateRedis.run { server in
            let client = RedisClient(url: server.url, telemetry: .silent())
            let check = try await RedisServerCheck.run(client)
            #expect(check.warnings.isEmpty)
            let offset = try await RedisServerCheck.clockOffset(client, clock: SystemWallClock())
            #expect(abs(offset.milliseconds) < 30_000)
            await client.close()
        }
    }
}
