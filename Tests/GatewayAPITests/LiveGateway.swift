import GatewayAPI
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

/// A gateway over a real database and a real queue.
struct LiveGateway {
    let fixture: GatewayFixture
    let database: TestDatabase
    let redis: TestRedis
    let queue: QueueName
    let limiter: WeeklyLimiter

    /// Runs the body on a fresh database and a queue of its own.
    static func run(_ body: (LiveGateway) async throws -> Void) async throws {
        try await TestRedis.run { redis in
            try await TestDatabase.with { database in
                _ = try await Migrator(pool: database.pool).migrate()
                let live = try LiveGateway(database: database, redis: redis)
                let result: Result<Void, any Error>
                do { result = .success(try await body(live)) } catch { result = .failure(error) }
                await live.limiter.close()
                try result.get()
            }
        }
    }

    private init(database: TestDatabase, redis: TestRedis) throws {
        let queue = try QueueName(prefix: redis.prefix, name: "deliver")
        self.database = database
        self.redis = redis
        self.queue = queue
        let pool = database.pool
        // The machine that runs the tests may be busy; the deadline has tests of its own.
        let limiter = WeeklyLimiter(
            url: redis.url,
            layout: .standalone,
            deadline: .seconds(10),
            telemetry: .silent()
        )
        self.limiter = limiter
        fixture = try GatewayFixture { memory in
            Self.ports(
                pool: pool,
                redis: redis.client,
                queue: queue,
                clock: FixedWallClock(memory.now),
                limiter: limiter
            )
        }
    }

    /// The gateway's ports over real servers.
    static func ports(
        pool: PostgresPool,
        redis: RedisClient,
        queue: QueueName,
        clock: any WallClock,
        limiter: WeeklyLimiter,
        registry: CategoryRegistry = .standard
    ) -> GatewayPorts {
        let bus = NotificationBus(
            queue: JobQueue(redis: redis, name: queue, clock: clock, telemetry: .silent()),
            registry: registry,
            ids: MessageIDGenerator(clock: clock),
            clock: clock
        )
        return GatewayPorts(
            devices: StoreDeviceDirectory(DeviceStore(pool: pool)),
            inbox: StoreInbox(InboxStore(pool: pool)),
            preferences: StorePreferenceBook(PreferenceStore(pool: pool)),
            door: BusDoor(bus),
            schedules: StoreScheduleBook(ScheduleStore(pool: pool)),
            idempotency: StoreIdempotencyLedger(IdempotencyStore(pool: pool)),
            stories: StoreMessageStories(StoryStore(pool: pool)),
            personalData: eraser(pool: pool, redis: redis, queue: queue, limiter: limiter),
            activity: StoreActivityLog(ActivityStore(pool: pool)),
            campaigns: StoreCampaignDesk(
                CampaignStore(pool: pool),
                patient: CampaignStore(pool: pool),
                messages: CampaignMessages(
                    identity: MessageIdentity(prefix: queue.prefix, queue: queue.name) { SHA256.hash($0) }
                ),
                bus: bus
            ),
            developer: nil
        )
    }

    /// Something that erases users, as each gateway process has one.
    static func eraser(
        pool: PostgresPool,
        redis: RedisClient,
        queue: QueueName,
        limiter: WeeklyLimiter
    ) -> UserEraser {
        UserEraser(
            store: PersonalDataStore(pool: pool),
            queue: JobQueue(redis: redis, name: queue, telemetry: .silent()),
            limiter: limiter,
            registry: .standard,
            telemetry: .silent()
        )
    }

    /// How many keys of jobs the queue holds.
    func jobs() async throws -> Int {
        let keys = try await redis.client.send(RedisCommand(["KEYS", .string("\(queue.keyPrefix)0*-*")])).array ?? []
        return keys.count
    }

    /// One field of a job.
    func field(_ name: String, ofJob id: String) async throws -> String? {
        try await redis.client.send(RedisCommand(["HGET", .string(queue.keyPrefix + id), .string(name)])).string
    }

    /// Everything a query of one column `line` returns.
    func lines(_ sql: SQL) async throws -> [String] {
        try await database.pool.query(sql).map { row in try row.string("line") }
    }
}
