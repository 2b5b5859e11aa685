import GatewayAPI
import HTTPServer
import JobQueue
import Kernel
import Notifications
import PostgresClient
import RateLimiter
import RedisClient
import Store
import Synchronization
import TestSupport
import Testing

/// What is held of a user: told and erased.
@Suite struct PersonalDataTests {
    private static let notifications = "/api/v1/notifications"

    /// A user whom no other test names, here or in the shared Redis.
    private let user = "erase-\(UInt64.random(in: 0...UInt64.max))"

    /// Fills everything the gateway and the engine write about a user.
    private func settle(_ live: LiveGateway) async throws {
        let device: JSONValue = ["token": .string("token-\(user)"), "deviceId": "d", "timezone": "Europe/Oslo"]
        let registered = try await live.fixture.user(.post, "\(Self.notifications)/device-token", device, as: user)
        #expect(registered.status == 200)
        let later: JSONValue = [
            "userId": .string(user), "category": "reminder", "body": "later",
            "scheduledFor": .string((live.fixture.clock.now + .seconds(30 * 86_400)).rfc3339),
        ]
        let scheduled = try await live.fixture.service(.post, Self.notifications, later, key: "a")
        #expect(scheduled.status == 202)
        let now: JSONValue = ["userId": .string(user), "category": "reminder", "body": "now"]
        let answer = try await live.fixture.service(.post, Self.notifications, now, key: "b")
        let id = try #require(answer.data["messageId"]?.stringValue.flatMap { MessageID($0) })
        try await write(id, live)
        _ = try await live.database.pool.query(
            "INSERT INTO user_activity VALUES (\(user), now() - interval '1 hour', 'Europe/Oslo')"
        )
        _ = try await live.database.pool.query(
            """
            INSERT INTO reminder_weeks
            VALUES (\(user), '2026-W48', \(id.bits), 1, 'enqueued', now() - interval '1 hour')
            """
        )
        // The answer to a request that concerned others too.
        let shared = #"{"data":{"usersWithoutToken":["\#(user)","\#(user)-not"]}}"#
        _ = try await live.database.pool.query(
            """
            INSERT INTO idempotency_keys (credential, key, fingerprint, message_ids, state, status, response)
            VALUES ('all', 'shared', 'f', ARRAY['0198a0f2-0000-7000-8000-000000000000']::uuid[], 'done', 200, \(shared))
            """
        )
    }

    /// A row and an event, as the engine writes them for a job that was created before the erasure.
    private func write(_ id: MessageID, _ live: LiveGateway) async throws {
        _ = try await live.database.pool.query(
            """
            INSERT INTO notification_messages (id, user_id, category, title, body, deeplink_url, job_id, status,
                enqueued_at, due_at)
            VALUES (\(id.bits), \(user), 'reminder', 'T', 'B', 'im://home', \(id.description), 'sent',
                now() - interval '1 hour', now())
            """
        )
        _ = try await live.database.pool.query(
            """
            INSERT INTO notification_events (at, message_id, user_id, job_id, ats, attempt, kind)
            VALUES (now(), \(id.bits), \(user), \(id.description), 1, 1, 'sent')
            """
        )
    }

    /// The tables in which the user's id stands anywhere, and the keys of Redis that name the user in name or value.
    private func traces(_ live: LiveGateway) async throws -> [String] {
        let tables = try await live.lines(
            """
            SELECT c.relname AS line FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1
            """
        )
        var found: [String] = []
        for table in tables {
            let rows = try await live.lines(
                "SELECT '' AS line FROM \(unescaped: table) AS t WHERE strpos(t::text, \(user)) > 0"
            )
            if !rows.isEmpty { found.append(table) }
        }
        let redis = live.redis.client
        let caps = try await redis.send(RedisCommand(["KEYS", .string("notif:v2:*\(user)*")])).array ?? []
        if !caps.isEmpty { found.append("caps") }
        for key in try await redis.send(RedisCommand(["KEYS", .string("\(live.queue.keyPrefix)*")])).array ?? [] {
            guard let name = key.string else { continue }
            let value = try? await redis.send(RedisCommand(["HGET", .string(name), "data"]))
            if value?.string?.contains(user) == true { found.append("job") }
        }
        return found
    }

    @Test func `after an erasure nothing of the user is found anywhere, and what was in flight goes too`() async throws
    {
        try await LiveGateway.run { live in
            try await settle(live)
            let week = try await live.lines(#"SELECT to_char(now() AT TIME ZONE 'UTC', 'IYYY-"W"IW') AS line"#)[0]
            _ = await live.limiter.take([
                SlotRequest(
                    userID: user,
                    categoryID: "reminder",
                    weekKey: week,
                    messageID: "m",
                    categoryCap: 1,
                    globalCap: 4
                )
            ])
            let before = try await traces(live)
            #expect(
                Set(before) == [
                    "caps", "devices", "idempotency_keys", "job", "notification_events", "notification_messages",
                    "reminder_weeks", "scheduled_notifications", "user_activity", "user_notification_preferences",
                ]
            )
            #expect(try await live.lines("SELECT key AS line FROM idempotency_keys").count == 3)

            let answer = try await live.fixture.service(.delete, "/api/v1/users/\(user)")
            #expect(answer.status == 202)
            #expect(answer.data["completesAt"]?.stringValue.flatMap { Timestamp(rfc3339: $0) } != nil)
            // Others stay in an answer that told of several.
            let answers = try await live.lines("SELECT response AS line FROM idempotency_keys")
            #expect(answers == [#"{"data":{"usersWithoutToken":["erased","\#(user)-not"]}}"#])
            _ = try await live.database.pool.query("DELETE FROM idempotency_keys")
            // The request itself stands until the second pass.
            #expect(try await traces(live) == ["erasures"])

            // A worker that was under way writes after the first pass; another gateway does the second.
            try await write(MessageID(at: SystemWallClock().now, entropy: [1]), live)
            let eraser = LiveGateway.eraser(
                pool: live.database.pool,
                redis: live.redis.client,
                queue: live.queue,
                limiter: live.limiter
            )
            #expect(await eraser.workOff() == 0)
            _ = try await live.database.pool.query("UPDATE erasures SET due_at = now()")
            #expect(await eraser.workOff() == 1)
            #expect(try await traces(live) == [])
            let tombstones = try await live.lines("SELECT reason AS line FROM cancellations WHERE scope = 'user'")
            #expect(tombstones == ["erased"])
        }
    }

    @Test func `a job created before the erasure ends at gate 0, and its event names nobody`() async throws {
        try await LiveGateway.run { live in
            let id = try #require(UserID(user))
            let made = SystemWallClock().now - .seconds(1)
            _ = try await live.fixture.service(.delete, "/api/v1/users/\(user)")
            let message = MessageIDGenerator(clock: SystemWallClock()).next()
            func verdict(enqueuedAt moment: Timestamp) async throws -> String? {
                let query = RecipientStore.Query(
                    messageID: message,
                    userID: id,
                    category: "reminder",
                    sourceEntityID: nil,
                    enqueuedAt: moment,
                    openingMinute: nil
                )
                return try await RecipientStore(pool: live.database.pool).recipients(for: [query]).1[0]
                    .cancellationReason
            }
            #expect(try await verdict(enqueuedAt: made) == "erased")
            // Who returns is not held back.
            #expect(try await verdict(enqueuedAt: SystemWallClock().now + .seconds(5)) == nil)
            let event = DeliveryEvent(
                kind: .cancelled,
                messageID: message,
                userID: user,
                category: "reminder",
                jobID: message.description,
                attemptsStarted: 1,
                attempt: 0,
                at: SystemWallClock().now,
                gate: "cancelled",
                reason: "erased"
            )
            let record = OutcomeStore.Record(
                messageID: message,
                userID: user,
                category: "reminder",
                status: nil,
                reason: nil,
                deliveries: [:],
                acceptedAt: nil,
                clearsWeek: false,
                events: [event]
            )
            _ = try await OutcomeStore(pool: live.database.pool).record([record])
            #expect(try await live.lines("SELECT kind AS line FROM notification_events") == ["cancelled"])
            #expect(try await traces(live) == ["erasures"])
        }
    }

    @Test func `a user who returns between the passes keeps what is new`() async throws {
        try await LiveGateway.run { live in
            try await settle(live)
            _ = try await live.fixture.service(.delete, "/api/v1/users/\(user)")
            let device: JSONValue = ["token": "new-token", "deviceId": "d"]
            _ = try await live.fixture.user(.post, "\(Self.notifications)/device-token", device, as: user)
            _ = try await live.database.pool.query("UPDATE erasures SET due_at = now()")
            let eraser = LiveGateway.eraser(
                pool: live.database.pool,
                redis: live.redis.client,
                queue: live.queue,
                limiter: live.limiter
            )
            #expect(await eraser.workOff() == 1)
            _ = try await live.database.pool.query("DELETE FROM idempotency_keys")
            #expect(try await live.lines("SELECT token AS line FROM devices") == ["new-token"])
            #expect(try await traces(live) == ["devices", "user_notification_preferences"])
        }
    }

    @Test func `an export tells every table, a page at a time`() async throws {
        try await LiveGateway.run { live in
            try await settle(live)
            let answer = try await live.fixture.service(.get, "/api/v1/users/\(user)/export")
            #expect(answer.status == 200)
            #expect(answer.data["userId"]?.stringValue == user)
            #expect(answer.data["hasNext"] == false)
            let tables = try #require(answer.data["tables"])
            #expect(tables["devices"]?.arrayValue?.first?["token"]?.stringValue == "token-\(user)")
            #expect(tables["notification_messages"]?.arrayValue?.count == 1)
            #expect(tables["notification_events"]?.arrayValue?.count == 1)
            #expect(tables["scheduled_notifications"]?.arrayValue?.count == 1)
            #expect(tables["user_notification_preferences"]?.arrayValue?.count == 1)
            let store = PersonalDataStore(pool: live.database.pool)
            try await write(MessageID(at: SystemWallClock().now, entropy: [2]), live)
            let id = try #require(UserID(user))
            let pages = [
                try await store.page(of: id, limit: 1, offset: 0), try await store.page(of: id, limit: 1, offset: 1),
            ]
            #expect(pages.map(\.hasMore) == [true, false])
            let messages = pages.flatMap { page in page.tables.filter { $0.name == "notification_messages" } }
            #expect(Set(messages.flatMap { $0.rows.map { $0["id"]?.stringValue } }).count == 2)
        }
    }

    @Test func `what carries a user's id as its account token is the user's while nobody is linked to it (P6)`()
        async throws
    {
        let (owner, other) = ("6F9619FF-8B86-4011-B42D-00C04FC964FF", "somebody-else")
        try await LiveGateway.run { live in
            let rows: [(id: String, user: String?, token: String?)] = [
                ("unlinked", nil, owner.lowercased()), ("linked", owner, nil), ("sold", other, owner.lowercased()),
                ("foreign", nil, "00000000-0000-4000-8000-000000000000"), ("nobody", nil, nil),
            ]
            for row in rows {
                _ = try await live.database.pool.query(
                    """
                    INSERT INTO subscriptions (environment, original_transaction_id, user_id, app_account_token, created_at)
                    VALUES ('production', \(row.id), \(row.user), \(row.token.flatMap { UUIDBits($0) }), now() - interval '1 hour')
                    """
                )
            }
            for row in rows + [("held", nil, owner.lowercased())] {
                let transaction: JSONValue = row.token.map { ["appAccountToken": .string($0)] } ?? [:]
                _ = try await live.database.pool.query(
                    """
                    INSERT INTO app_store_notifications (environment, notification_uuid, notification_type,
                        original_transaction_id, signed_at, facts, signed_payload, received_at)
                    SELECT 'production', gen_random_uuid(), 'EXPIRED', \(row.id), moment,
                        jsonb_build_object('transaction', \(transaction)), '', moment
                    FROM (SELECT now() - interval '1 hour' AS moment) AS given
                    """
                )
            }
            let told = try await live.fixture.service(.get, "/api/v1/users/\(owner)/export").data["tables"]
            #expect(told?["app_store_notifications"]?.arrayValue?.count == 3)
            #expect(told?["subscriptions"]?.arrayValue?.count == 2)
            #expect(try await live.fixture.service(.delete, "/api/v1/users/\(owner)").status == 202)
            let left: SQL = "SELECT original_transaction_id AS line FROM"
            #expect(try await live.lines("\(left) subscriptions ORDER BY 1") == ["foreign", "nobody", "sold"])
            #expect(
                try await live.lines("\(left) app_store_notifications ORDER BY 1") == ["foreign", "nobody", "sold"]
            )
        }
    }

    @Test func `who may not erase may not look either, and only a user id is taken`() async throws {
        let fixture = try GatewayFixture()
        for (method, path) in [(HTTPMethod.get, "/api/v1/users/u1/export"), (.delete, "/api/v1/users/u1")] {
            #expect(try await fixture.service(method, path, as: "writer").status == 403)
            #expect(try await fixture.user(method, path).status == 403)
            #expect(try await fixture.send(method, path).status == 401)
            let bad = try await fixture.service(method, path.replacing("u1", with: "u%201"))
            #expect(bad.status == 422)
        }
        #expect(try await fixture.service(.get, "/api/v1/users/u1/export?page=0").status == 422)
        #expect(fixture.memory.state.withLock { $0.erased } == [])
    }
}
