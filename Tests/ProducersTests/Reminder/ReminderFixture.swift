import JobQueue
import Kernel
import NotificationBus
import NotificationContract
import Notifications
import Observability
import PostgresClient
import RedisClient
import Signing
import Store
import Synchronization
import TestSupport
import Testing

@testable import Producers

/// A reminder producer over a database and a queue of its own, at a moment of the test's choice.
struct ReminderFixture {
    let database: TestDatabase
    let redis: TestRedis
    let queue: JobQueue
    let store: ReminderStore

    static func run(_ body: (ReminderFixture) async throws -> Void) async throws {
        try await TestRedis.run { redis in
            try await TestDatabase.with { database in
                _ = try await Migrator(pool: database.pool).migrate()
                let queue = JobQueue(
                    redis: redis.client,
                    name: try QueueName(prefix: redis.prefix, name: "notification-deliver"),
                    telemetry: .silent()
                )
                let store = ReminderStore(pool: database.pool)
                try await body(ReminderFixture(database: database, redis: redis, queue: queue, store: store))
            }
        }
    }

    /// - Parameter queue: another queue than the fixture's.
    func producer(at moment: String, queue: JobQueue? = nil) throws -> ReminderProducer {
        let now = try #require(Timestamp(rfc3339: moment))
        return ReminderProducer(
            store: store,
            bus: NotificationBus(
                queue: queue ?? self.queue,
                registry: .standard,
                ids: MessageIDGenerator(clock: FixedWallClock(now)),
                clock: FixedWallClock(now)
            ),
            identity: MessageIdentity(prefix: "bull", queue: "notification-deliver") { SHA256.hash($0) },
            category: try CategoryRegistry.standard.category(.reminder),
            clock: { now },
            telemetry: .silent()
        )
    }

    @discardableResult
    func run(at moment: String) async throws -> ReminderReport {
        try await producer(at: moment).run()
    }

    /// A user with one device, last active at a moment.
    func add(_ user: String, zone: String?, lastActivity: String?, switches: JSONValue = [:]) async throws {
        _ = try await database.pool.query(
            """
            INSERT INTO user_notification_preferences (user_id, ios_permission_status, timezone, categories)
            VALUES (\(user), 'granted', \(zone), \(switches))
            """
        )
        _ = try await database.pool.query(
            """
            INSERT INTO devices (user_id, device_id, provider, platform, token, environment, topic, permission_status)
            VALUES (\(user), 'd', 'apns', 'ios', \("token-of-\(user)"), 'production', 'app', 'granted')
            """
        )
        guard let lastActivity else { return }
        let at = try #require(Timestamp(rfc3339: lastActivity))
        try await ActivityStore(pool: database.pool).record([.init(userID: #require(UserID(user)), at: at)])
    }

    /// The data of the jobs in the queue, by user.
    func jobs() async throws -> [String: (id: String, data: JSONValue)] {
        let ids = try await database.pool.query("SELECT user_id, message_id::text AS id FROM reminder_weeks")
        var jobs: [String: (id: String, data: JSONValue)] = [:]
        for row in ids {
            let id = try row.string("id")
            guard let job = try await queue.job(id) else { continue }
            let data = try #require(job.fields["data"])
            jobs[try row.string("user_id")] = (id, try JSONValue(parsing: data))
        }
        return jobs
    }

    /// `user week state` of every row.
    func weeks() async throws -> [String] {
        try await database.pool.query(
            "SELECT user_id || ' ' || week_key || ' ' || state AS line FROM reminder_weeks ORDER BY user_id, week_key"
        ).map { row in try row.string("line") }
    }

    func messageID(of user: String) async throws -> MessageID {
        let rows = try await database.pool.query("SELECT message_id FROM reminder_weeks WHERE user_id = \(user)")
        let row = try #require(rows.first)
        return try #require(MessageID(try row.uuid("message_id")))
    }

    func waiting() async throws -> Int { try await queue.counts().ready }
}
