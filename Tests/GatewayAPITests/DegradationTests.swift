import GatewayAPI
import Glibc
import HTTPServer
import JobQueue
import Kernel
import Notifications
import Observability
import PostgresClient
import RateLimiter
import RedisClient
import Store
import TestSupport
import Testing

/// What the gateway still does when a server behind it is slow or gone: 503 with Retry-After in bounded time, and the rest as ever.
@Suite(.serialized) struct DegradationTests {
    private static let enqueue = "/api/v1/notifications"
    private static let inbox = "/api/v2/notifications"
    private let order: JSONValue = ["userId": "u1", "category": "reminder", "body": "Hello"]

    private func isComeBack(_ answer: GatewayFixture.Answer) -> Bool {
        answer.status == 503 && answer.headers["retry-after"] != nil && answer.slug == "temporarily-unavailable"
    }

    /// A gateway over the given servers.
    private func gateway(
        _ pool: PostgresPool,
        _ redis: RedisClient,
        _ url: RedisURL,
        _ body: (GatewayFixture) async throws -> Void
    ) async throws {
        let limiter = WeeklyLimiter(url: url, layout: .standalone, telemetry: .silent())
        let queue = try QueueName(prefix: "t", name: "deliver")
        let fixture = try GatewayFixture(ports: { memory in
            LiveGateway.ports(
                pool: pool,
                redis: redis,
                queue: queue,
                clock: FixedWallClock(memory.now),
                limiter: limiter
            )
        })
        let result: Result<Void, any Error>
        do { result = .success(try await body(fixture)) } catch { result = .failure(error) }
        await limiter.close()
        try result.get()
    }

    @Test(.timeLimit(.minutes(2)))
    func `without Redis nothing is enqueued and everything else serves (G11)`() async throws {
        try await TestDatabase.with { database in
            _ = try await Migrator(pool: database.pool).migrate()
            try await PrivateRedis.run { server in
                let redis = RedisClient(
                    url: server.url,
                    options: .init(connectTimeout: .milliseconds(500), commandTimeout: .milliseconds(500)),
                    telemetry: .silent()
                )
                try await gateway(database.pool, redis, server.url) { fixture in
                    #expect(try await fixture.service(.post, Self.enqueue, order).status == 202)
                    for isFrozen in [true, false] {
                        if isFrozen { server.freeze() } else { try await server.kill() }
                        let refused = try await fixture.service(.post, Self.enqueue, order)
                        #expect(isComeBack(refused), "\(refused.status) \(refused.text)")
                        #expect(try await fixture.user(.get, Self.inbox).status == 200)
                        let device: JSONValue = ["token": "t", "deviceId": "phone"]
                        #expect(try await fixture.user(.post, Self.enqueue + "/device-token", device).status == 200)
                        if isFrozen { server.resume() } else { try await server.start() }
                        try await eventually { try await fixture.service(.post, Self.enqueue, order).status == 202 }
                    }
                }
                await redis.close()
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a slow PostgreSQL is answered for in bounded time, and the enqueueing goes on (G11)`() async throws {
        try await TestRedis.run { redis in
            try await TestDatabase.with { database in
                _ = try await Migrator(pool: database.pool).migrate()
                var options = PostgresPool.Options()
                options.size = 2
                options.statementTimeout = .milliseconds(300)
                options.acquireTimeout = .milliseconds(300)
                let pool = PostgresPool(url: database.url, options: options, telemetry: .silent())
                try await gateway(pool, redis.client, redis.url) { fixture in
                    #expect(try await fixture.user(.get, Self.inbox).status == 200)
                    try await database.pool.transaction { transaction in
                        _ = try await transaction.query("LOCK TABLE notification_messages IN ACCESS EXCLUSIVE MODE")
                        // More than there are connections: some are ended by the server, the others tired of waiting.
                        try await withThrowingTaskGroup(of: GatewayFixture.Answer.self) { group in
                            for _ in 0..<20 { group.addTask { try await fixture.user(.get, Self.inbox) } }
                            for try await answer in group { #expect(isComeBack(answer), "\(answer.status)") }
                        }
                        #expect(try await fixture.service(.post, Self.enqueue, order).status == 202)
                    }
                    #expect(try await fixture.user(.get, Self.inbox).status == 200)
                }
                await pool.close()
            }
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [false, true])
    func `a PostgreSQL that is gone, or accepts and says nothing, is answered for in bounded time (G11)`(
        accepts: Bool
    ) async throws {
        try await TestRedis.run { redis in
            let silent = try SilentServer(accepts: accepts)
            var options = PostgresPool.Options()
            options.size = 2
            options.connectTimeout = .milliseconds(300)
            options.acquireTimeout = .milliseconds(500)
            let url = try PostgresURL(parsing: "postgresql://nobody@127.0.0.1:\(silent.port)/none")
            let pool = PostgresPool(url: url, options: options, telemetry: .silent())
            try await gateway(pool, redis.client, redis.url) { fixture in
                try await withThrowingTaskGroup(of: GatewayFixture.Answer.self) { group in
                    for _ in 0..<10 {
                        group.addTask { try await fixture.user(.get, Self.inbox) }
                        group.addTask {
                            let device: JSONValue = ["token": "t", "deviceId": "phone"]
                            return try await fixture.user(.post, Self.enqueue + "/device-token", device)
                        }
                    }
                    for try await answer in group { #expect(isComeBack(answer), "\(answer.status) \(answer.text)") }
                }
                #expect(try await fixture.service(.post, Self.enqueue, order).status == 202)
            }
            await pool.close()
        }
    }

    private func eventually(_ condition: () async throws -> Bool) async throws {
        for _ in 0..<600 {
            if try await condition() { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        Issue.record("did not come true within half a minute")
    }
}

/// A port where nobody answers: connections are refused, or made by the kernel and then left alone.
private final class SilentServer: Sendable {
    let port: Int
    private let descriptor: Int32

    init(accepts: Bool) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, size) == 0 && getsockname(descriptor, address, &size) == 0
            }
        }
        guard bound, !accepts || listen(descriptor, 64) == 0 else { throw TestServerError("no port: \(errno)") }
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit {
        close(descriptor)
    }
}
