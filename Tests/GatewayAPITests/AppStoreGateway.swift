import GatewayAPI
import HTTPServer
import JobQueue
import Kernel
import NotificationBus
import Notifications
import Observability
import PostgresClient
import Producers
import RateLimiter
import RedisClient
import Signing
import Store
import TestSupport
import Testing

/// A gateway with the App Store's routes over a real database and a real queue, and a store of our own that signs for it.
struct AppStoreGateway {
    static let bundleID = "com.example.app"
    static let appID: Int64 = 1234

    let fixture: GatewayFixture
    let database: TestDatabase
    let redis: TestRedis
    let maker: ChainMaker
    let queue: JobQueue
    var now: Timestamp { fixture.clock.now }

    /// - Parameter queueRedis: where the queue lies; `nil` for the test's own server.
    static func run(
        queueRedis: RedisClient? = nil,
        revocation: (any RevocationChecking)? = nil,
        _ body: (AppStoreGateway) async throws -> Void
    ) async throws {
        try await TestRedis.run { redis in
            try await TestDatabase.with { database in
                _ = try await Migrator(pool: database.pool).migrate()
                let limiter = WeeklyLimiter(url: redis.url, layout: .standalone, telemetry: .silent())
                let gateway = try AppStoreGateway(
                    database,
                    redis,
                    limiter,
                    queueRedis: queueRedis ?? redis.client,
                    revocation: revocation
                )
                let result: Result<Void, any Error>
                do { result = .success(try await body(gateway)) } catch { result = .failure(error) }
                await limiter.close()
                try result.get()
            }
        }
    }

    private init(
        _ database: TestDatabase,
        _ redis: TestRedis,
        _ limiter: WeeklyLimiter,
        queueRedis: RedisClient,
        revocation: (any RevocationChecking)?
    ) throws {
        self.database = database
        self.redis = redis
        let start = Timestamp(milliseconds: 1_796_083_200_000)
        let maker = try ChainMaker(now: start)
        self.maker = maker
        let chains = try ChainVerifier(roots: [X509Certificate(der: maker.root)], rules: .appStore)
        let clock = FixedWallClock(start)
        let signed = SignedDataVerifier(chains: chains, revocation: revocation, clock: clock)
        let events = JobQueue(
            redis: queueRedis,
            name: try QueueName(prefix: redis.prefix, name: LifecycleQueue.name),
            telemetry: .silent()
        )
        queue = events
        let deliver = try QueueName(prefix: redis.prefix, name: "deliver")
        let catalog = try Catalog.standard(appName: "Test App")
        let pool = database.pool
        let sink = Telemetry.silent()
        fixture = try GatewayFixture { _ in
            var ports = LiveGateway.ports(
                pool: pool,
                redis: redis.client,
                queue: deliver,
                clock: clock,
                limiter: limiter
            )
            ports.appStore = AppStorePorts(
                verifier: AppStoreVerifier(signed: signed, bundleID: Self.bundleID, appAppleID: Self.appID),
                intake: StoreAppStoreIntake(
                    outbox: AppStoreOutbox(pool: pool),
                    queue: LifecycleQueue(queue: events),
                    telemetry: sink
                )
            )
            let identity = MessageIdentity(prefix: "bull", queue: "deliver") { SHA256.hash($0) }
            ports.lifecycle = LifecyclePorts(
                notices: LifecycleNotices(catalog: catalog, tiers: .none, identity: identity),
                audience: StoreLifecycleAudience(SubscriptionStore(pool: pool))
            )
            return ports
        }
    }

    // MARK: What the store signs

    func transaction(_ changes: [String: JSONValue] = [:]) throws -> String {
        try maker.sign(
            merged(
                [
                    "originalTransactionId": "1000", "bundleId": .string(Self.bundleID), "productId": "pro",
                    "environment": "Production", "type": "Auto-Renewable Subscription",
                    "signedDate": .integer(now.milliseconds), "expiresDate": .integer(now.milliseconds + 1000),
                ],
                changes
            )
        )
    }

    func notification(
        uuid: String = "002e14d5-51f5-4503-b5a8-c3a1af68eb20",
        environment: String = "Production",
        _ changes: [String: JSONValue] = [:]
    ) throws -> String {
        let renewal: JSONValue = [
            "originalTransactionId": "1000", "autoRenewStatus": 1, "environment": .string(environment),
            "signedDate": .integer(now.milliseconds),
        ]
        let data: JSONValue = [
            "bundleId": .string(Self.bundleID), "appAppleId": .integer(Self.appID), "environment": .string(environment),
            "status": 3,
            "signedTransactionInfo": .string(try transaction(["environment": .string(environment)])),
            "signedRenewalInfo": .string(try maker.sign(renewal)),
        ]
        return try maker.sign(
            merged(
                [
                    "notificationType": "DID_FAIL_TO_RENEW", "notificationUUID": .string(uuid), "version": "2.0",
                    "signedDate": .integer(now.milliseconds), "data": data,
                ],
                changes
            )
        )
    }

    private func merged(_ base: [String: JSONValue], _ changes: [String: JSONValue]) -> JSONValue {
        let all = base.merging(changes) { _, new in new }
        return .object(all.sorted { $0.key < $1.key }.map { JSONMember($0.key, $0.value) })
    }

    func post(_ payload: String, to environment: String = "production") async throws -> GatewayFixture.Answer {
        try await fixture.send(
            .post,
            "/api/v1/webhooks/app-store/\(environment)",
            ["signedPayload": .string(payload)]
        )
    }

    func lines(_ sql: SQL) async throws -> [String] {
        try await database.pool.query(sql).map { row in try row.string("line") }
    }

    func refusals(_ reason: String, _ environment: String = "production") -> Bool {
        fixture.telemetry.metrics.render()
            .contains("app_store_refused_total{environment=\"\(environment)\",reason=\"\(reason)\"} 1")
    }
}
