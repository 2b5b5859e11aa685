import Foundation
import JobQueue
import Kernel
import NotificationContract
import Notifications
import Observability
import PostgresClient
import RedisClient

/// The whole delivery chain on one machine: a filled queue, one worker, PostgreSQL, Redis and the simulator.
///
/// Every user gets one notification, 70% reminders, 20% campaigns, 10% lifecycle; nine of ten pass all gates.
struct EngineBench {
    private let pool: PostgresPool
    private let queue: JobQueue
    private let redis: RedisClient
    private let users: Int
    private let notifications: Int
    private let worker: URL
    private let servers: [(name: String, time: ProcessorTime)]

    init(environment: [String: String]) throws {
        func value(_ name: String) throws -> String {
            guard let text = environment[name] else { throw BenchError(description: "\(name) is not set") }
            return text
        }
        func number(_ name: String) throws -> Int {
            guard let number = Int(try value(name)) else { throw BenchError(description: "\(name) is no number") }
            return number
        }
        let telemetry = Telemetry(logger: Logger(service: "bench", level: .warning))
        var options = PostgresPool.Options()
        options.size = 2
        options.statementTimeout = .seconds(600)
        pool = PostgresPool(
            url: try PostgresURL(parsing: value("DATABASE_URL")),
            options: options,
            telemetry: telemetry
        )
        redis = RedisClient(url: try RedisURL(parsing: value("REDIS_URL")), telemetry: telemetry)
        queue = JobQueue(redis: redis, name: try QueueName(name: "notification-deliver"), telemetry: telemetry)
        users = try number("BENCH_USERS")
        notifications = try number("BENCH_NOTIFICATIONS")
        worker = URL(fileURLWithPath: try value("BENCH_WORKER"))
        servers = try [
            ("redis", "BENCH_REDIS_PID"), ("postgres", "BENCH_POSTGRES_PID"), ("simulator", "BENCH_SIMULATOR_PID"),
        ].map {
            (name: $0.0, time: ProcessorTime(process: Int32(try number($0.1))))
        }
    }

    func run() async throws {
        say("seeding \(users) users")
        try await seed()
        say("enqueueing \(notifications) notifications")
        try await fill()
        say("delivering")
        try await measure()
    }

    /// Users in up to 40 zones where it is day now, 1.2 devices each; one of ten is stopped by a gate.
    private func seed() async throws {
        let statements: [SQL] = [
            """
            CREATE TABLE bench_zones AS
            SELECT name, row_number() OVER () AS n FROM (
                SELECT name FROM time_zones
                WHERE extract(hour FROM now() AT TIME ZONE name) BETWEEN 9 AND 18 ORDER BY md5(name) LIMIT 40
            ) AS z
            """,
            """
            INSERT INTO user_notification_preferences
                (user_id, ios_permission_status, timezone, categories, silence_until, language)
            SELECT 'user-' || n, CASE WHEN n % 30 = 0 THEN 'denied' ELSE 'granted' END,
                (SELECT name FROM bench_zones z WHERE z.n = u.n % (SELECT count(*) FROM bench_zones) + 1),
                jsonb_build_object('campaign', jsonb_build_object('enabled', true),
                    'reminder', jsonb_build_object('enabled', n % 30 <> 10)),
                CASE WHEN n % 30 = 20 THEN now() + interval '7 days' END, (ARRAY['en', 'nb', 'de', 'ja'])[n % 4 + 1]
            FROM generate_series(1, \(users)::int) AS u(n)
            """,
            """
            INSERT INTO devices
                (user_id, device_id, provider, platform, token, environment, topic, permission_status, registered_at)
            SELECT 'user-' || n, 'device-' || d, 'apns', 'ios', md5(n || ':' || d) || md5(d || ':' || n), 'production',
                'com.example.impulse', 'granted', now() - interval '30 days'
            FROM generate_series(1, \(users)::int) AS u(n), generate_series(1, 2) AS v(d)
            WHERE d = 1 OR n % 5 = 0
            """,
        ]
        for statement in statements { _ = try await pool.query(statement) }
        for table in ["user_notification_preferences", "devices"] {
            _ = try await pool.query("VACUUM (ANALYZE) \(unescaped: table)")
        }
        _ = try await pool.query("CHECKPOINT")
    }

    private func fill() async throws {
        let ids = MessageIDGenerator(clock: SystemWallClock())
        let now = SystemWallClock().now
        // Users in no particular order, as a campaign or the hours bring them.
        let stride = 7919
        for start in Swift.stride(from: 0, to: notifications, by: 500) {
            let jobs = (start..<min(start + 500, notifications)).map { index -> NewJob in
                let user = (index * stride) % users + 1
                let category: CategoryID = index % 10 < 7 ? .reminder : index % 10 < 9 ? .campaign : .lifecycle
                let priority = category == .reminder ? 10 : category == .campaign ? 20 : 0
                let data = """
                    {"userId":"user-\(user)","category":"\(category)","body":"Have you checked in with yourself today?"}
                    """
                return NewJob(
                    name: "notification",
                    data: data,
                    options: JobOptions(jobID: ids.next().description, priority: priority, timestamp: now)
                )
            }
            _ = try await queue.addBulk(jobs)
        }
    }

    private func measure() async throws {
        let process = Process()
        process.executableURL = worker
        try process.run()
        let workerTime = ProcessorTime(process: process.processIdentifier)
        let before = servers.map(\.time.microseconds)
        var started: ContinuousClock.Instant?
        var peak = 0.0
        let limit = ContinuousClock.now + .seconds(1800)
        while true {
            let counts = try await queue.counts()
            let left = counts.ready + counts.active
            if started == nil, left < notifications || counts.active > 0 { started = .now }
            peak = max(peak, workerTime.residentMegabytes)
            if left == 0 { break }
            guard process.isRunning, ContinuousClock.now < limit else {
                throw BenchError(description: "the worker ended or took too long, with \(left) jobs left")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
        let elapsed = (started ?? .now).duration(to: .now).inSeconds
        let after = servers.map(\.time.microseconds)
        let workerMicroseconds = workerTime.microseconds
        process.terminate()
        process.waitUntilExit()
        let count = Double(notifications)
        var figures: [(String, Double, String)] = [("notifications_per_s", count / elapsed, "1/s")]
        figures.append(("worker_us_per_notification", workerMicroseconds / count, "us"))
        for (index, server) in servers.enumerated() {
            figures.append(("\(server.name)_us_per_notification", (after[index] - before[index]) / count, "us"))
        }
        figures.append(("worker_rss_mb", peak, "MB"))
        try await check()
        print("figures:")
        for (name, value, unit) in figures { print(name, String(format: "%.1f", value), unit) }
    }

    /// A run that lost or refused more than it should has measured something else.
    private func check() async throws {
        let rows = try await pool.query(
            "SELECT kind, count(*) AS n FROM notification_events WHERE kind <> 'enqueued' GROUP BY kind ORDER BY kind"
        )
        var outcomes: [String: Int] = [:]
        for row in rows { outcomes[try row.string("kind")] = try row.int("n") }
        say("events: \(outcomes.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))")
        let messages = try await pool.query("SELECT count(*) AS n FROM notification_messages WHERE status = 'sent'")
        let sent = try messages.first?.int("n") ?? 0
        guard Double(sent) > 0.88 * Double(notifications), outcomes["failed"] ?? 0 == 0 else {
            throw BenchError(description: "only \(sent) of \(notifications) were sent")
        }
    }

    private func say(_ text: String) {
        FileHandle.standardError.write(Data("\(text)\n".utf8))
    }
}
