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

/// The lifecycle producer over a real database and real queues, at a time of the test's choice.
struct LifecycleFixture {
    static let start = Timestamp(milliseconds: 1_796_083_200_000)

    let database: TestDatabase
    let redis: TestRedis
    let clock: FixedWallClock
    let deliver: JobQueue
    let events: JobQueue
    let store: SubscriptionStore
    let outbox: AppStoreOutbox
    let notices: LifecycleNotices
    let bus: NotificationBus
    let telemetry = Telemetry.silent()

    static func run(
        start: Timestamp = LifecycleFixture.start,
        _ body: (LifecycleFixture) async throws -> Void
    ) async throws {
        try await TestRedis.run { redis in
            try await TestDatabase.with(size: 12) { database in
                _ = try await Migrator(pool: database.pool).migrate()
                try await body(try LifecycleFixture(database, redis, start: start))
            }
        }
    }

    private init(_ database: TestDatabase, _ redis: TestRedis, start: Timestamp) throws {
        self.database = database
        self.redis = redis
        clock = FixedWallClock(start)
        deliver = JobQueue(
            redis: redis.client,
            name: try QueueName(prefix: redis.prefix, name: "deliver"),
            clock: clock,
            telemetry: .silent()
        )
        events = JobQueue(
            redis: redis.client,
            name: try QueueName(prefix: redis.prefix, name: LifecycleQueue.name),
            telemetry: .silent()
        )
        store = SubscriptionStore(pool: database.pool)
        outbox = AppStoreOutbox(pool: database.pool)
        notices = LifecycleNotices(
            catalog: try Catalog.standard(appName: "Test App"),
            tiers: try ProductTiers(file: Array(#"{"pro": {"en": "Pro plan", "nb": "Pro-planen"}}"#.utf8)),
            identity: MessageIdentity(prefix: "bull", queue: "deliver") { SHA256.hash($0) }
        )
        bus = NotificationBus(
            queue: deliver,
            registry: .standard,
            ids: MessageIDGenerator(clock: clock),
            clock: clock
        )
    }

    func producer(queue: JobQueue? = nil) -> LifecycleProducer {
        let bus = queue.map {
            NotificationBus(queue: $0, registry: .standard, ids: MessageIDGenerator(clock: clock), clock: clock)
        }
        return LifecycleProducer(
            store: store,
            bus: bus ?? self.bus,
            notices: notices,
            clock: clock,
            telemetry: telemetry
        )
    }

    // MARK: What the store says

    /// Keeps a notification as the gateway does.
    func keep(
        _ type: String,
        _ subtype: String? = nil,
        number: Int,
        id: String = "1000",
        at moment: Timestamp? = nil,
        environment: AppStoreEnvironment = .production,
        change: (inout AppStoreNotification) -> Void = { _ in }
    ) async throws -> UUIDBits {
        let moment = moment ?? clock.now
        let uuid = UUIDBits(high: 0x4000, low: 0x8000_0000_0000_0000 | UInt64(number))
        var transaction = AppStoreTransaction(originalTransactionID: id, signedAt: moment)
        transaction.isAutoRenewable = true
        transaction.expiresAt = clock.now + .seconds(3600)
        transaction.productID = "pro"
        transaction.subscriptionGroup = "group"
        transaction.appAccountToken = "7e3fb204-2ad5-4f5b-9d3c-1f9c3b9a9a01"
        var renewal = AppStoreRenewal(originalTransactionID: id, signedAt: moment)
        renewal.autoRenews = true
        var made = AppStoreNotification(
            environment: environment,
            uuid: uuid,
            type: type,
            subtype: subtype,
            signedAt: moment,
            transaction: transaction,
            renewal: renewal
        )
        change(&made)
        let isNew = try await outbox.keep(
            AppStoreOutbox.Notification(
                environment: environment.rawValue,
                uuid: uuid,
                type: type,
                subtype: subtype,
                originalTransactionID: made.originalTransactionID,
                signedAt: moment,
                facts: made.facts,
                signedPayload: "signed"
            )
        )
        #expect(isNew)
        return uuid
    }

    /// Registers the user that the notifications' account token names.
    func register(
        _ user: String = "7E3FB204-2AD5-4F5B-9D3C-1F9C3B9A9A01",
        language: String? = nil,
        zone: String? = nil
    ) async throws {
        _ = try await database.pool.query(
            """
            INSERT INTO user_notification_preferences (user_id, language, timezone)
            VALUES (\(user), \(language), \(zone))
            """
        )
    }

    // MARK: What came of it

    /// The data of the jobs on the delivery queue, oldest first.
    func jobs() async throws -> [JSONValue] {
        try await deliver.jobs(.wait, limit: 1000).map { try JSONValue(parsing: $0.data) }
    }

    func keys() async throws -> [String] {
        try await jobs().map { $0["text"]?["key"]?.stringValue ?? "" }
    }

    func lines(_ sql: SQL) async throws -> [String] {
        try await database.pool.query(sql).map { row in try row.string("line") }
    }
}
