import Foundation
import JobQueue
import Kernel
import NotificationBus
import NotificationContract
import Notifications
import Observability
import PostgresClient
import PushSimulator
import RedisClient
import Signing
import Store
import TestSupport
import Testing

/// A whole platform for one test: a database, a queue of its own, the simulator in this process, and workers as real
/// processes that can be killed.
final class Stage: Sendable {
    static let topic = "app.example"
    private static let keyID = "TESTKEY123"
    private static let teamID = "TESTTEAM12"
    private static let fcmKeyID = "fcmkey01"
    private static let fcmEmail = "push@test-project.iam.gserviceaccount.com"
    /// Made once: an RSA key takes a while.
    private static let fcmKey = Result { try RSAKey.generate() }

    let database: TestDatabase
    let redis: TestRedis
    let queue: JobQueue
    let bus: NotificationBus
    let simulator: PushSimulator
    let folder: URL
    private let workers = ProcessList()

    private init(database: TestDatabase, redis: TestRedis, simulator: PushSimulator, folder: URL) throws {
        self.database = database
        self.redis = redis
        self.simulator = simulator
        self.folder = folder
        queue = JobQueue(
            redis: redis.client,
            name: try QueueName(prefix: redis.prefix, name: "notification-deliver"),
            telemetry: .silent()
        )
        bus = NotificationBus(queue: queue, registry: .standard, ids: MessageIDGenerator(clock: SystemWallClock()))
    }

    /// Builds a stage, runs the body and ends everything that was started.
    static func run(_ body: (Stage) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("varsel-e2e-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let key = try ECKey.generateP256()
        let identity = try SelfSigned.make(hosts: ["127.0.0.1"], validFor: .seconds(86_400), now: SystemWallClock().now)
        try key.privatePEM.write(to: folder.appendingPathComponent("key.p8"), atomically: true, encoding: .utf8)
        try identity.certificatePEM.write(
            to: folder.appendingPathComponent("ca.pem"),
            atomically: true,
            encoding: .utf8
        )
        var configuration = SimulatorConfiguration(
            identity: .init(certificatePEM: identity.certificatePEM, keyPEM: identity.keyPEM),
            credentials: [
                .init(key: try VerificationKey(pem: key.publicPEM, keyID: keyID), teamID: teamID)
            ],
            topics: [topic]
        )
        // Tests count every push of the largest of them.
        configuration.recordLimit = 200_000
        configuration.fcm = FCMSimulation(
            projectID: "test-project",
            clientEmail: fcmEmail,
            key: try VerificationKey(pem: fcmKey.get().publicPEM, keyID: fcmKeyID)
        )
        let simulator = try await PushSimulator.start(configuration, telemetry: .silent())
        try serviceAccount(tokenPort: simulator.controlPort).text.write(
            to: folder.appendingPathComponent("fcm.json"),
            atomically: true,
            encoding: .utf8
        )
        let outcome: Result<Void, any Error>
        do {
            try await TestRedis.run { redis in
                try await TestDatabase.with { database in
                    _ = try await Migrator(pool: database.pool).migrate()
                    let stage = try Stage(database: database, redis: redis, simulator: simulator, folder: folder)
                    let result: Result<Void, any Error>
                    do { result = .success(try await body(stage)) } catch { result = .failure(error) }
                    await stage.workers.endAll()
                    try await stage.removeCaps()
                    if case .failure = result { stage.printLogs() }
                    try result.get()
                }
            }
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        await simulator.stop()
        try outcome.get()
    }

    /// The file that Google would have handed out.
    private static func serviceAccount(tokenPort: Int) throws -> JSONValue {
        [
            "type": "service_account", "project_id": "test-project", "private_key_id": .string(fcmKeyID),
            "private_key": .string(try fcmKey.get().privatePEM), "client_email": .string(fcmEmail),
            "token_uri": .string("http://127.0.0.1:\(tokenPort)/token"),
        ]
    }

    /// What a service of this stage is told by its environment.
    func environment(_ extra: [String: String] = [:]) -> [String: String] {
        var environment = [
            "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin",
            "DATABASE_URL": database.urlText,
            "REDIS_URL": ProcessInfo.processInfo.environment["VARSEL_TEST_REDIS_URL"] ?? "",
            "QUEUE_PREFIX": redis.prefix,
            "QUEUE_LOCK_DURATION": "4s",
            "APNS_KEY_FILE": folder.appendingPathComponent("key.p8").path,
            "APNS_KEY_ID": Self.keyID,
            "APNS_TEAM_ID": Self.teamID,
            "APNS_TOPIC": Self.topic,
            "APNS_HOST": "127.0.0.1",
            "APNS_PORT": String(simulator.port),
            "APNS_CA_FILE": folder.appendingPathComponent("ca.pem").path,
            "FCM_CREDENTIALS_FILE": folder.appendingPathComponent("fcm.json").path,
            "FCM_HOST": "127.0.0.1",
            "FCM_PORT": String(simulator.fcmPort ?? 0),
            "FCM_CA_FILE": folder.appendingPathComponent("ca.pem").path,
        ]
        environment.merge(extra) { $1 }
        return environment
    }

    /// Starts a delivery worker.
    @discardableResult
    func startWorker(_ extra: [String: String] = [:]) throws -> ServiceProcess {
        try start("delivery-worker", extra)
    }

    /// Starts a service, which ends with the stage at the latest.
    @discardableResult
    func start(_ service: String, _ extra: [String: String] = [:]) throws -> ServiceProcess {
        let process = try ServiceProcess(service, environment: environment(extra), folder: folder)
        workers.add(process)
        return process
    }

    /// Starts a campaign producer.
    @discardableResult
    func startProducer(_ extra: [String: String] = [:]) throws -> ServiceProcess {
        let process = try ServiceProcess("campaign-producer", environment: environment(extra), folder: folder)
        workers.add(process)
        return process
    }

    /// Users in a zone where it is noon or so now, with one device each. The token of user `u7` is `07…`.
    func addUsers(_ count: Int, prefix: String = "u", granted: Bool = true) async throws {
        let hour = Int(SystemWallClock().now.seconds % 86_400 / 3600)
        // Etc/GMT-3 is three hours ahead of UTC.
        let ahead = 12 - hour
        let zone = ahead == 0 ? "UTC" : "Etc/GMT\(ahead > 0 ? "-" : "+")\(abs(ahead))"
        _ = try await database.pool.query(
            """
            INSERT INTO user_notification_preferences (user_id, ios_permission_status, timezone, categories)
            SELECT \(prefix) || n, \(granted ? "granted" : "denied"), \(zone), '{"campaign": {"enabled": true}}'
            FROM generate_series(1, \(count)) AS n
            """
        )
        _ = try await database.pool.query(
            """
            INSERT INTO devices (user_id, device_id, provider, platform, token, environment, topic, permission_status,
                registered_at)
            SELECT \(prefix) || n, 'phone', 'apns', 'ios', lpad(to_hex(n) || encode(\(prefix)::bytea, 'hex'), 64, '0'),
                'production', \(Self.topic), 'granted', now() - interval '1 day'
            FROM generate_series(1, \(count)) AS n
            """
        )
    }

    /// Gives the first users an Android phone beside what they have. The registration token of user 7 is `android-7`.
    func addAndroidPhones(_ count: Int, prefix: String) async throws {
        _ = try await database.pool.query(
            """
            INSERT INTO devices (user_id, device_id, provider, platform, token, environment, topic, permission_status,
                registered_at)
            SELECT \(prefix) || n, 'droid', 'fcm', 'android', 'android-' || n, 'production', \(Self.topic), 'granted',
                now() - interval '1 day'
            FROM generate_series(1, \(count)) AS n
            """
        )
    }

    func request(_ user: String, _ category: CategoryID = .reminder, body: OperatorText = "Hello") throws
        -> NotificationRequest
    {
        NotificationRequest(
            job: NotificationJob(
                userID: try #require(UserID(user)),
                category: category,
                text: .literal(body: body)
            )
        )
    }

    func token(of user: String) async throws -> String {
        let rows = try await database.pool.query("SELECT token FROM devices WHERE user_id = \(user)")
        return try #require(try rows.first?.string("token"))
    }

    /// Waits until the condition holds, at most for half a minute: other processes decide when.
    func eventually(_ what: String, within limit: Duration = .seconds(30), _ condition: () async throws -> Bool)
        async throws
    {
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline {
            if try await condition() { return }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw StageError(description: "did not come true in time: \(what)")
    }

    /// Waits until the queue holds nothing that waits or is being worked on.
    func queueAtRest(within limit: Duration = .seconds(60)) async throws {
        try await eventually("the queue is at rest", within: limit) {
            let counts = try await queue.counts()
            return counts.ready == 0 && counts.active == 0 && counts.delayed == 0
        }
    }

    /// The kinds of a message's events, in order.
    func events(of message: MessageID) async throws -> [String] {
        let rows = try await database.pool.query(
            "SELECT kind FROM notification_events WHERE message_id = \(message.bits) ORDER BY at, id"
        )
        return try rows.map { row in try row.string("kind") }
    }

    func count(_ condition: String) async throws -> Int {
        let rows = try await database.pool.query("SELECT count(*) AS n FROM \(unescaped: condition)")
        return try #require(try rows.first?.int("n"))
    }

    /// The ISO week that stands on every wall of the stage.
    func week() async throws -> String {
        let rows = try await database.pool.query(
            """
            SELECT to_char(now() AT TIME ZONE timezone, 'IYYY-"W"IW') AS week FROM user_notification_preferences LIMIT 1
            """
        )
        return try #require(try rows.first?.string("week"))
    }

    /// The ports of the servers that all tests share.
    var redisPort: Int { Self.port(in: ProcessInfo.processInfo.environment["VARSEL_TEST_REDIS_URL"] ?? "") ?? 6379 }
    var postgresPort: Int { Self.port(in: database.urlText) ?? 5432 }

    private static func port(in url: String) -> Int? { URLComponents(string: url)?.port }

    /// Kills every worker that runs.
    func endWorkers() async { await workers.endAll() }

    /// How many slots each user holds of the category, in the week that stands on every wall of the stage.
    func slots(of users: [String], _ category: String = "reminder") async throws -> [Int] {
        let week = try await week()
        let replies = try await redis.client.pipeline(
            users.map { RedisCommand(["HLEN", .string("notif:v2:cat:\($0):\(category):\(week)")]) }
        )
        return try replies.map { try $0.requireInt("HLEN") }
    }

    func slots(of user: String, _ category: String = "reminder") async throws -> Int {
        try await slots(of: [user], category)[0]
    }

    /// Users whose message went out uncounted, because the caps did not answer in time on a busy machine.
    func uncountedUsers() async throws -> Set<String> {
        let rows = try await database.pool.query("SELECT user_id FROM notification_messages WHERE cap_open")
        return Set(try rows.map { row in try row.string("user_id") })
    }

    private func removeCaps() async throws {
        try await redis.removeKeys(matching: "notif:v2:*:\(redis.prefix)-*")
    }

    /// The name of a user of this stage alone.
    func user(_ number: Int) -> String { "\(userPrefix)\(number)" }
    var userPrefix: String { "\(redis.prefix)-" }

    private func printLogs() {
        for url in (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        where url.pathExtension == "log" {
            let text = (try? String(contentsOf: url, encoding: .utf8)) ?? ""
            Issue.record("\(url.lastPathComponent) ends with:\n\(text.suffix(3000))")
        }
    }
}

struct StageError: Error, CustomStringConvertible {
    let description: String
}
