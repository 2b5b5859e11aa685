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
    /// Jobs that wait behind those that are measured.
    private let backlog: Int
    private let workers: Int
    private let soakSeconds: Int
    private let groups: URL
    private let ids = MessageIDGenerator(clock: SystemWallClock())
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
        backlog = try number("BENCH_BACKLOG")
        workers = try number("BENCH_WORKERS")
        soakSeconds = try number("BENCH_SOAK_SECONDS")
        groups = URL(fileURLWithPath: try value("BENCH_GROUPS_FILE"))
        worker = URL(fileURLWithPath: try value("BENCH_WORKER"))
        servers = try [
            ("redis", "BENCH_REDIS_PID"), ("postgres", "BENCH_POSTGRES_PID"), ("simulator", "BENCH_SIMULATOR_PID"),
        ].map {
            (name: $0.0, time: ProcessorTime(process: Int32(try number($0.1))))
        }
    }

    /// - Parameter part: `seed`, `measure`, `steady`, `idle` or `groups`.
    func run(_ part: String) async throws {
        switch part {
        case "seed":
            say("seeding \(users) users")
            try await seed()
        case "measure":
            say("enqueueing \(notifications) notifications, and \(backlog) behind them")
            try await fill(0..<notifications, job)
            try await fill(notifications..<notifications + backlog, jobBehind)
            say("delivering with \(workers) worker\(workers == 1 ? "" : "s")")
            try await measure()
        case "steady": try await steady()
        case "idle": try await idle()
        case "groups": try await writeGroups()
        default: throw BenchError(description: "engine has no part \(part)")
        }
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

    private func fill(_ numbers: Range<Int>, _ job: (Int) -> NewJob) async throws {
        // Users in no particular order, as a campaign or the hours bring them.
        for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 500) {
            _ = try await queue.addBulk((start..<min(start + 500, numbers.upperBound)).map(job))
        }
    }

    /// A job that no worker takes before those that are measured, so that the same notifications are measured whatever waits.
    private func jobBehind(_ index: Int) -> NewJob {
        job(user: recipient(index).user, category: .campaign, priority: 30)
    }

    /// The user, and the category, of a number: every user once before any comes twice.
    private func recipient(_ index: Int) -> (user: String, category: CategoryID) {
        ("user-\((index * 7919) % users + 1)", index % 10 < 7 ? .reminder : index % 10 < 9 ? .campaign : .lifecycle)
    }

    private func job(_ index: Int) -> NewJob {
        let (user, category) = recipient(index)
        let priority = category == .reminder ? 10 : category == .campaign ? 20 : 0
        return job(user: user, category: category, priority: priority)
    }

    private func job(user: String, category: CategoryID, priority: Int) -> NewJob {
        NewJob(
            name: "notification",
            data: """
                {"userId":"\(user)","category":"\(category)","body":"Have you checked in with yourself today?"}
                """,
            options: JobOptions(jobID: ids.next().description, priority: priority, timestamp: SystemWallClock().now)
        )
    }

    private func startWorkers() throws -> [Process] {
        try (0..<workers).map { _ in
            let process = Process()
            process.executableURL = worker
            try process.run()
            return process
        }
    }

    /// Clock from the first claim until so many jobs are done; what waits behind them stays.
    private func measure() async throws {
        let processes = try startWorkers()
        defer { for process in processes { process.terminate() } }
        let times = processes.map { ProcessorTime(process: $0.processIdentifier) }
        let before = servers.map(\.time.microseconds)
        let all = notifications + backlog
        var started: ContinuousClock.Instant?
        var peak = 0.0
        let limit = ContinuousClock.now + .seconds(1800)
        while true {
            let counts = try await queue.counts()
            let left = counts.ready + counts.active
            if started == nil, left < all || counts.active > 0 { started = .now }
            peak = max(peak, times.map(\.residentMegabytes).max() ?? 0)
            if left <= backlog { break }
            guard processes.allSatisfy(\.isRunning), ContinuousClock.now < limit else {
                throw BenchError(description: "a worker ended or took too long, with \(left) jobs left")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        let elapsed = (started ?? .now).duration(to: .now).inSeconds
        let after = servers.map(\.time.microseconds)
        let workerMicroseconds = times.map(\.microseconds).reduce(0, +)
        for process in processes { process.terminate() }
        for process in processes { process.waitUntilExit() }
        let count = Double(notifications)
        var figures: [(String, Double, String)] = [("notifications_per_s", count / elapsed, "1/s")]
        figures.append(("worker_us_per_notification", workerMicroseconds / count, "us"))
        for (index, server) in servers.enumerated() {
            figures.append(("\(server.name)_us_per_notification", (after[index] - before[index]) / count, "us"))
        }
        figures.append(("worker_rss_mb", peak, "MB"))
        if backlog == 0 { try await check() }
        for (name, value, unit) in figures { print(name, String(format: "%.1f", value), unit) }
    }

    /// 2,000 a second: resident memory at a fifth of the time, and at its end.
    private func steady() async throws {
        let processes = try startWorkers()
        defer { for process in processes { process.terminate() } }
        let time = ProcessorTime(process: processes[0].processIdentifier)
        let start = ContinuousClock.now
        var early: Double?
        for step in 0... {
            let age = start.duration(to: .now)
            if early == nil, age >= .seconds(soakSeconds / 5) { early = time.residentMegabytes }
            if age >= .seconds(soakSeconds) { break }
            _ = try await queue.addBulk((step * 200..<(step + 1) * 200).map(job))
            try await Task.sleep(until: start + .milliseconds(100 * (step + 1)))
        }
        let late = time.residentMegabytes
        let left = try await queue.counts().ready
        say(
            "steady: \(early ?? 0) MB after \(soakSeconds / 5) s, \(late) MB after \(soakSeconds) s, \(left) jobs behind"
        )
        guard left < 20_000 else { throw BenchError(description: "the worker did not keep up: \(left) jobs wait") }
        print("worker_rss_growth", String(format: "%.3f", late / (early ?? late)), "ratio")
    }

    private func idle() async throws {
        let processes = try startWorkers()
        defer { for process in processes { process.terminate() } }
        try await Task.sleep(for: .seconds(10))
        let time = ProcessorTime(process: processes[0].processIdentifier)
        print("worker_idle_rss_mb", String(format: "%.1f", time.residentMegabytes), "MB")
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

    /// The statements of the pipeline for groups of 256, as a pgbench script, and their values in table `bench_groups`.
    private func writeGroups() async throws {
        let count = notifications / EngineStatements.size
        let first = try await EngineStatements(index: 0, recipient: recipient, ids: ids)
        let columns = first.parameters.indices.map { "p\($0 + 1)" }
        let definitions = columns.map { "\($0) text" }.joined(separator: ", ")
        _ = try await pool.query("DROP TABLE IF EXISTS bench_groups")
        _ = try await pool.query(
            "CREATE TABLE bench_groups (n integer PRIMARY KEY, \(unescaped: definitions))"
        )
        for index in 0..<count {
            let group = try await EngineStatements(index: index * EngineStatements.size, recipient: recipient, ids: ids)
            _ = try await pool.query(
                """
                INSERT INTO bench_groups SELECT \(index + 1), v.* FROM (
                    SELECT \(unescaped: columns.indices.map { "a[\($0 + 1)]" }.joined(separator: ", "))
                    FROM (SELECT \(group.parameters) AS a) AS given
                ) AS v
                """
            )
        }
        _ = try await pool.query("VACUUM (ANALYZE) bench_groups")
        let script = """
            \\set n :n + 1
            SELECT \(columns.joined(separator: ", ")) FROM bench_groups WHERE n = :n \\gset
            \(first.script)

            """
        try script.write(to: groups, atomically: true, encoding: .utf8)
    }
}
