import JobQueue
import Kernel
import NotificationBus
import Notifications
import Observability
import PostgresClient
import RedisClient
import Signing
import Store
import TestSupport
import Testing

@testable import Producers

/// A campaign producer over a database and queues of its own.
struct CampaignFixture {
    let database: TestDatabase
    let redis: TestRedis
    let delivery: JobQueue
    let chunks: JobQueue
    let campaigns: CampaignStore
    let store: CampaignFanOutStore

    static func run(_ body: (CampaignFixture) async throws -> Void) async throws {
        try await TestRedis.run { redis in
            try await TestDatabase.with(size: 6) { database in
                _ = try await Migrator(pool: database.pool).migrate()
                func queue(_ name: String) throws -> JobQueue {
                    let name = try QueueName(prefix: redis.prefix, name: name)
                    return JobQueue(redis: redis.client, name: name, telemetry: .silent())
                }
                try await body(
                    CampaignFixture(
                        database: database,
                        redis: redis,
                        delivery: try queue("deliver"),
                        chunks: try queue(CampaignFanOut.queueName),
                        campaigns: CampaignStore(pool: database.pool),
                        store: CampaignFanOutStore(pool: database.pool)
                    )
                )
            }
        }
    }

    var conductor: CampaignConductor { conductor(highWater: 1000) }

    func conductor(highWater: Int) -> CampaignConductor {
        CampaignConductor(
            store: store,
            chunks: chunks,
            delivery: delivery,
            highWater: highWater,
            plan: .init(defaultZone: "Europe/Oslo", chunkSize: 10),
            telemetry: .silent()
        )
    }

    func fanOut(
        highWater: Int = 1000,
        delivery other: JobQueue? = nil,
        window: DeliveryWindow = .always
    ) -> CampaignFanOut {
        let queue = other ?? delivery
        return CampaignFanOut(
            store: store,
            messages: CampaignMessages(identity: MessageIdentity(prefix: "p", queue: "q") { SHA256.hash($0) }),
            bus: NotificationBus(
                queue: queue,
                registry: .standard,
                ids: MessageIDGenerator(clock: SystemWallClock())
            ),
            delivery: queue,
            highWater: highWater,
            window: window,
            telemetry: .silent()
        )
    }

    /// The hour that the wall shows in a zone now.
    func hour(in zone: String) async throws -> Int {
        let rows = try await database.pool.query("SELECT extract(hour FROM now() AT TIME ZONE \(zone))::bigint AS hour")
        return try rows.first?.int("hour") ?? 0
    }

    /// The texts that a statement gives as `line`.
    func lines(_ statement: SQL) async throws -> [String] {
        try await database.pool.query(statement).map { row in try row.string("line") }
    }

    /// Users `prefix1` and so on, with a phone each.
    func addUsers(_ count: Int, prefix: String = "u", zone: String? = "UTC", language: String? = nil) async throws {
        _ = try await database.pool.query(
            """
            INSERT INTO user_notification_preferences (user_id, ios_permission_status, timezone, language)
            SELECT \(prefix) || n, 'granted', \(zone), \(language) FROM generate_series(1, \(count)) AS n
            """
        )
        _ = try await database.pool.query(
            """
            INSERT INTO devices (user_id, device_id, provider, platform, token, environment, topic, permission_status)
            SELECT \(prefix) || n, 'phone', 'apns', 'ios', \(prefix) || '-token-' || n, 'production', 'app', 'granted'
            FROM generate_series(1, \(count)) AS n
            """
        )
    }

    /// A campaign that was started.
    func start(audience: CampaignAudience = .init(), pace: Int? = nil, timing: CampaignTiming? = nil) async throws
        -> CampaignID
    {
        let id = CampaignID(MessageIDGenerator(clock: SystemWallClock()).next().bits)
        let texts = try #require(
            CampaignTexts(
                [.english: .init(body: "Hello"), .german: .init(title: "T", body: "Hallo")],
                fallback: .english
            )
        )
        let content = CampaignContent(name: "c", texts: texts, audience: audience, pace: pace)
        _ = try await campaigns.create(id, content, by: "tester")
        _ = try await campaigns.schedule(
            id,
            timing ?? .at(SystemWallClock().now - .seconds(60)),
            version: nil,
            by: "tester"
        )
        return id
    }

    /// Lets every chunk that is on the queue of chunks be handed over, one after another, and takes its job out.
    @discardableResult
    func work(_ fanOut: CampaignFanOut) async throws -> Int {
        var count = 0
        for reference in try await handed() { count += try await fanOut.perform(reference) }
        return count
    }

    /// The chunks that wait on the queue of chunks.
    func handed() async throws -> [CampaignFanOutStore.ChunkReference] {
        let rows = try await database.pool.query(
            "SELECT campaign_id, chunk::bigint AS chunk FROM campaign_chunks WHERE handed_at IS NOT NULL ORDER BY chunk"
        )
        return try rows.map { row in
            .init(campaign: CampaignID(try row.uuid("campaign_id")), chunk: try row.int("chunk"))
        }
    }

    func forgetHandOuts() async throws {
        _ = try await database.pool.query("UPDATE campaign_chunks SET handed_at = NULL WHERE state = 'pending'")
    }

    /// Every user who has a job, once for each.
    func recipients() async throws -> [String] {
        let keys =
            try await redis.client.send(RedisCommand(["KEYS", .string("\(delivery.name.keyPrefix)0*-*")])).array ?? []
        var users: [String] = []
        for key in keys.compactMap(\.string) {
            let data = try await redis.client.send(RedisCommand(["HGET", .string(key), "data"])).string
            let value = try data.map { try JSONValue(parsing: $0) }
            if let user = value?["userId"]?.stringValue { users.append(user) }
        }
        return users.sorted()
    }

    func state(_ id: CampaignID) async throws -> CampaignState? { try await campaigns.campaign(id)?.state }
}
