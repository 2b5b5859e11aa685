import GatewayAPI
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

/// The routes over a real database and a real queue.
@Suite struct LiveGatewayTests {
    private static let devices = "/api/v1/notifications/device-token"
    private static let notifications = "/api/v1/notifications"

    private func notification(_ user: String = "u1", category: String = "reminder") -> JSONValue {
        ["userId": .string(user), "category": .string(category), "body": "Hello"]
    }

    @Test func `registering without a bearer can never touch a user's rows`() async throws {
        try await LiveGateway.run { live in
            let token = String(repeating: "ab", count: 32)
            let mine: JSONValue = ["token": .string(token), "deviceId": "iphone-15", "timezone": "Europe/Oslo"]
            #expect(try await live.fixture.user(.post, Self.devices, mine).status == 200)
            func rows() async throws -> [String] {
                let devices = try await live.lines(
                    "SELECT to_jsonb(d)::text AS line FROM devices d WHERE user_id IS NOT NULL ORDER BY id"
                )
                let preferences = try await live.lines(
                    "SELECT to_jsonb(p)::text AS line FROM user_notification_preferences p ORDER BY user_id"
                )
                return devices + preferences
            }
            let before = try await rows()
            #expect(before.count == 2)

            let attempts: [JSONValue] = [
                mine, ["token": .string(token), "deviceId": "iphone-15", "permissionStatus": "denied"],
                ["token": .string(token.uppercased()), "deviceId": "other", "timezone": "Asia/Tokyo"],
                ["token": "another-token", "deviceId": "iphone-15"], ["token": "", "deviceId": "iphone-15"],
                ["token": .string(token), "environment": "sandbox", "deviceId": "iphone-15"],
            ]
            for attempt in attempts {
                for bearer in [nil, "not.a.token", GatewayFixture.serviceToken("all")] {
                    let answer = try await live.fixture.send(.post, Self.devices, attempt, bearer: bearer)
                    #expect(answer.status == 200)
                }
            }
            #expect(try await live.fixture.send(.delete, "\(Self.devices)/\(token)").status == 204)
            #expect(try await live.fixture.user(.delete, "\(Self.devices)/\(token)", as: "u2").status == 204)
            #expect(try await rows() == before)

            #expect(try await live.fixture.user(.delete, "\(Self.devices)/\(token)").status == 204)
            #expect(try await live.lines("SELECT token AS line FROM devices WHERE user_id = 'u1'") == [])
        }
    }

    @Test func `a new token for the same device replaces the old, and signing in takes over nobody's row`() async throws
    {
        try await LiveGateway.run { live in
            _ = try await live.fixture.send(.post, Self.devices, ["token": "first", "deviceId": "d"])
            for token in ["first", "second"] {
                let body: JSONValue = ["token": .string(token), "deviceId": "d"]
                #expect(try await live.fixture.user(.post, Self.devices, body).status == 200)
            }
            let rows = try await live.lines("SELECT concat_ws(':', user_id, device_id, token) AS line FROM devices")
            #expect(rows == ["u1:d:second"])
        }
    }

    @Test func `an enqueued notification is a job that waits, a scheduled one a job that is delayed`() async throws {
        try await LiveGateway.run { live in
            let answer = try await live.fixture.service(.post, Self.notifications, notification())
            let id = try #require(answer.data["jobId"]?.stringValue)
            #expect(try await live.field("name", ofJob: id) == "notification")
            #expect(try await live.field("data", ofJob: id)?.contains(#""userId":"u1""#) == true)

            let later: JSONValue = [
                "userId": "u1", "category": "lifecycle", "body": "x",
                "scheduledFor": .string((live.fixture.clock.now + .seconds(3600)).rfc3339),
            ]
            let scheduled = try await live.fixture.service(.post, Self.notifications, later)
            let delayed = try #require(scheduled.data["jobId"]?.stringValue)
            #expect(try await live.field("delay", ofJob: delayed) == "3600000")
        }
    }

    @Test func `a bulk with one wrong notification enqueues none`() async throws {
        try await LiveGateway.run { live in
            var entries = (0..<5).map { notification("u\($0)") }
            entries[3] = notification("u3", category: "mirror")
            let refused = try await live.fixture.service(
                .post,
                "\(Self.notifications)/bulk",
                ["notifications": .array(entries)]
            )
            #expect(refused.status == 422)
            #expect(refused.json["pointer"]?.stringValue == "/notifications/3/category")
            #expect(try await live.jobs() == 0)
            entries[3] = notification("u3")
            let accepted = try await live.fixture.service(
                .post,
                "\(Self.notifications)/bulk",
                ["notifications": .array(entries)]
            )
            #expect(accepted.status == 202)
            #expect(try await live.jobs() == 5)
        }
    }

    @Test func `idempotent requests are replayed, refused when misused, and conflict while running`() async throws {
        try await LiveGateway.run { live in
            let first = try await live.fixture.service(.post, Self.notifications, notification(), key: "k")
            let again = try await live.fixture.service(.post, Self.notifications, notification(), key: "k")
            #expect(first.status == 202)
            #expect(again.text == first.text)
            #expect(again.headers["idempotency-replayed"] == "true")
            #expect(try await live.jobs() == 1)
            let misuse = try await live.fixture.service(.post, Self.notifications, notification("u2"), key: "k")
            #expect(misuse.status == 422)
            #expect(misuse.slug == "idempotency-key-reused")
            _ = try await live.database.pool.query("UPDATE idempotency_keys SET state = 'running'")
            let running = try await live.fixture.service(.post, Self.notifications, notification(), key: "k")
            #expect(running.status == 409)
            // A request that died is taken over with the ids it had: the job is found again.
            _ = try await live.database.pool.query("UPDATE idempotency_keys SET started_at = '-infinity'")
            let resumed = try await live.fixture.service(.post, Self.notifications, notification(), key: "k")
            #expect(resumed.status == 202)
            #expect(resumed.data["messageId"] == first.data["messageId"])
            #expect(resumed.data["duplicate"] == true)
            #expect(try await live.jobs() == 1)
        }
    }

    @Test func `the inbox, preferences and explanations come from the database`() async throws {
        try await LiveGateway.run { live in
            let id = MessageID(at: SystemWallClock().now, entropy: [7])
            _ = try await live.database.pool.query(
                """
                INSERT INTO notification_messages (id, user_id, category, title, body, deeplink_url, job_id, status,
                    enqueued_at, due_at)
                VALUES (\(id.bits), 'u1', 'reminder', 'Title', 'Body', 'im://home', 'j', 'sent', now(), now())
                """
            )
            let page = try await live.fixture.user(.get, "/api/v2/notifications")
            #expect(page.data["list"]?.arrayValue?.first?["id"]?.stringValue == id.description)
            #expect(page.data["pagination"]?["total"] == 1)
            let path = "\(Self.notifications)/\(id)/read"
            #expect(try await live.fixture.user(.patch, path, ["isRead": true], as: "u2").status == 404)
            #expect(try await live.fixture.user(.patch, path, ["isRead": true]).data["isRead"] == true)
            #expect(try await live.fixture.user(.get, "\(Self.notifications)/unread-count").data["count"] == 0)

            let change: JSONValue = ["categories": ["campaign": true], "timezone": "Europe/Oslo"]
            let preferences = "\(Self.notifications)/preferences"
            #expect(try await live.fixture.user(.patch, preferences, change).status == 200)
            let now = try await live.fixture.user(.get, preferences).data
            #expect(now["categories"]?["campaign"]?["enabled"] == true)
            #expect(now["timezone"] == "Europe/Oslo")
            let unknown = try await live.fixture.user(.patch, preferences, ["timezone": "Mars/Olympus"])
            #expect(unknown.status == 422)
            #expect(unknown.json["pointer"]?.stringValue == "/timezone")

            let explain = "\(Self.notifications)/explain"
            let one = try await live.fixture.service(.get, "\(explain)?messageId=\(id)")
            #expect(one.data["message"]?["status"] == "sent")
            #expect(try await live.fixture.service(.get, "\(explain)?userId=u1").status == 200)
        }
    }

    @Test func `without Redis enqueueing is refused and the rest goes on`() async throws {
        try await LiveGateway.run { live in
            let nowhere = RedisClient(
                url: try RedisURL(parsing: "redis://127.0.0.1:1"),
                options: .init(commandTimeout: .milliseconds(300)),
                telemetry: .silent()
            )
            let fixture = try GatewayFixture { memory in
                LiveGateway.ports(
                    pool: live.database.pool,
                    redis: nowhere,
                    queue: live.queue,
                    clock: FixedWallClock(memory.now),
                    limiter: live.limiter
                )
            }
            let answer = try await fixture.service(.post, Self.notifications, notification(), key: "k")
            #expect(answer.status == 503)
            #expect(answer.headers["retry-after"] != nil)
            #expect(try await fixture.user(.get, "/api/v2/notifications").status == 200)
            await nowhere.close()
            // The key was given free: the same request succeeds once Redis is back.
            #expect(try await live.fixture.service(.post, Self.notifications, notification(), key: "k").status == 202)
        }
    }

    @Test func `without PostgreSQL what needs it is refused in bounded time`() async throws {
        try await TestRedis.run { redis in
            var options = PostgresPool.Options()
            options.connectTimeout = .milliseconds(300)
            options.acquireTimeout = .milliseconds(300)
            let pool = PostgresPool(
                url: try PostgresURL(parsing: "postgresql://nobody@127.0.0.1:1/none"),
                options: options,
                telemetry: .silent()
            )
            let queue = try QueueName(prefix: redis.prefix, name: "deliver")
            let limiter = WeeklyLimiter(url: redis.url, layout: .standalone, telemetry: .silent())
            let fixture = try GatewayFixture { memory in
                LiveGateway.ports(
                    pool: pool,
                    redis: redis.client,
                    queue: queue,
                    clock: FixedWallClock(memory.now),
                    limiter: limiter
                )
            }
            for answer in [
                try await fixture.user(.get, "/api/v2/notifications"),
                try await fixture.send(.post, Self.devices, ["token": "t"]),
                try await fixture.service(.post, Self.notifications, notification(), key: "k"),
            ] {
                #expect(answer.status == 503)
                #expect(answer.headers["retry-after"] == "2")
            }
            // Without a key nothing of the database is needed.
            #expect(try await fixture.service(.post, Self.notifications, notification()).status == 202)
            await limiter.close()
            await pool.close()
        }
    }
}
