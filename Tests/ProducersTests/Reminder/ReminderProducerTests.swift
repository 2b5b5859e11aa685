import JobQueue
import Kernel
import Notifications
import Observability
import PostgresClient
import RedisClient
import Store
import TestSupport
import Testing

@testable import Producers

/// Noon on Monday of week 53 of 2026 in UTC, unless a test says otherwise.
private let noon = "2026-12-28T12:00:00Z"

struct ReminderProducerTests {
    @Test func `who has been away is told what the days say, through the bus, under a fixed id (P1, P2, B1)`()
        async throws
    {
        try await ReminderFixture.run { fixture in
            let absences =
                [
                    ("d2", "2026-12-25T12:00:00.001Z", nil), ("d3", "2026-12-25T12:00:00Z", "reminder.step1.a"),
                    ("d4", "2026-12-24T12:00:00Z", "reminder.step1.b"),
                    ("d5", "2026-12-23T12:00:00Z", "reminder.step1.c"),
                    ("d6", "2026-12-21T12:00:00.001Z", "reminder.step1.a"),
                    ("d7", "2026-12-21T12:00:00Z", "reminder.step2"),
                    ("d13", "2026-12-15T12:00:00Z", "reminder.step2"),
                    ("d14", "2026-12-14T12:00:00Z", "reminder.step3"),
                    ("d20", "2026-12-08T12:00:00Z", "reminder.step3"),
                    ("d21", "2026-12-07T12:00:00Z", "reminder.step4"),
                    ("d27", "2026-11-30T12:00:00.001Z", "reminder.step4"), ("d28", "2026-11-30T12:00:00Z", nil),
                    ("never", nil, nil),
                ] as [(String, String?, String?)]
            for (user, last, _) in absences { try await fixture.add(user, zone: "UTC", lastActivity: last) }
            let report = try await fixture.run(at: noon)
            #expect(report.enqueued == 10 && report.due == 10 && report.duplicates == 0)
            let jobs = try await fixture.jobs()
            for (user, _, key) in absences {
                #expect(jobs[user]?.data["text"]?["key"]?.stringValue == key, "\(user)")
                #expect(jobs[user]?.data["category"] == (key == nil ? nil : "reminder"))
            }
            let monday = try #require(Timestamp(rfc3339: "2026-12-28T00:00:00Z"))
            let id = try #require(jobs["d3"]?.id)
            #expect(MessageID(id)?.instant == monday)
            let job = try #require(try await fixture.queue.job(id))
            #expect(job.fields["priority"] == "10")
        }
    }

    @Test func `a reminder comes once a week, whatever Redis forgot (P4)`() async throws {
        try await ReminderFixture.run { fixture in
            try await fixture.add("u", zone: "UTC", lastActivity: "2026-12-20T12:00:00Z")
            #expect(try await fixture.run(at: noon).enqueued == 1)
            #expect(try await fixture.run(at: "2026-12-28T13:00:00Z").enqueued == 0)
            try await fixture.redis.cleanUp()
            #expect(try await fixture.run(at: "2027-01-03T20:59:00Z").enqueued == 0)
            #expect(try await fixture.run(at: "2027-01-04T08:00:00Z").enqueued == 1)
            #expect(try await fixture.weeks() == ["u 2026-W53 enqueued", "u 2027-W01 enqueued"])
        }
    }

    @Test func `two machines at once remind everybody once (P4)`() async throws {
        try await ReminderFixture.run { fixture in
            for number in 0..<40 {
                try await fixture.add("u\(number)", zone: "UTC", lastActivity: "2026-12-20T12:00:00Z")
            }
            let (first, second) = (try fixture.producer(at: noon), try fixture.producer(at: noon))
            async let one = first.run()
            async let other = second.run()
            let reports = try await [one, other]
            #expect(reports.map(\.enqueued).reduce(0, +) == 40)
            #expect(reports.map(\.duplicates) == [0, 0])
            #expect(try await fixture.waiting() == 40)
        }
    }

    @Test func `a run that dies between claim and queue is made up for, with the same id (P4, E10)`() async throws {
        try await ReminderFixture.run { fixture in
            try await fixture.add("u", zone: "UTC", lastActivity: "2026-12-20T12:00:00Z")
            // A queue nobody answers at: the claim stands, the job does not.
            let away = JobQueue(
                redis: RedisClient(url: try RedisURL(parsing: "redis://127.0.0.1:1"), telemetry: .silent()),
                name: fixture.queue.name,
                telemetry: .silent()
            )
            let dying = try fixture.producer(at: noon, queue: away)
            await #expect(throws: JobQueueError.self) { _ = try await dying.run() }
            #expect(try await fixture.weeks() == ["u 2026-W53 claimed"])
            let id = try await fixture.messageID(of: "u")
            #expect(try await fixture.run(at: "2026-12-28T12:04:59Z").enqueued == 0)
            let report = try await fixture.run(at: "2026-12-28T12:05:00Z")
            #expect(report.takenUp == 1 && report.enqueued == 1)
            #expect(try await fixture.jobs()["u"]?.id == id.description)
            #expect(try await fixture.weeks() == ["u 2026-W53 enqueued"])
        }
    }

    @Test func `a run that dies between queue and mark enqueues nothing twice (P4)`() async throws {
        try await ReminderFixture.run { fixture in
            try await fixture.add("u", zone: "UTC", lastActivity: "2026-12-20T12:00:00Z")
            try await fixture.run(at: noon)
            _ = try await fixture.database.pool.query("UPDATE reminder_weeks SET state = 'claimed'")
            let report = try await fixture.run(at: "2026-12-28T13:00:00Z")
            #expect(report.takenUp == 1 && report.duplicates == 1)
            #expect(try await fixture.waiting() == 1)
        }
    }

    @Test func `a claim whose user came back, or whose zone sleeps, is not enqueued (P1, P4)`() async throws {
        try await ReminderFixture.run { fixture in
            for user in ["back", "asleep"] {
                try await fixture.add(user, zone: "UTC", lastActivity: "2026-12-20T12:00:00Z")
            }
            try await fixture.run(at: noon)
            try await fixture.redis.cleanUp()
            _ = try await fixture.database.pool.query("UPDATE reminder_weeks SET state = 'claimed'")
            let back = try #require(Timestamp(rfc3339: "2026-12-28T12:01:00Z"))
            try await ActivityStore(pool: fixture.database.pool)
                .record([.init(userID: #require(UserID("back")), at: back)])
            #expect(try await fixture.run(at: "2026-12-28T21:00:00Z").takenUp == 0)
            let report = try await fixture.run(at: "2026-12-29T08:00:00Z")
            #expect(report.takenUp == 2 && report.enqueued == 1)
            #expect(try await fixture.jobs().keys.sorted() == ["asleep"])
            #expect(try await fixture.weeks() == ["asleep 2026-W53 enqueued", "back 2026-W53 enqueued"])
        }
    }

    @Test func `a reminder that expired unseen is decided anew, under another id (P4, E11)`() async throws {
        try await ReminderFixture.run { fixture in
            for user in ["dropped", "arrived"] {
                try await fixture.add(user, zone: "UTC", lastActivity: "2026-12-20T12:00:00Z")
            }
            try await fixture.run(at: noon)
            let first = try await fixture.messageID(of: "dropped")
            try await expire("dropped", fixture)
            try await expire("arrived", fixture)
            // One phone had taken it before the other's time ran out.
            let arrived = try await fixture.messageID(of: "arrived")
            _ = try await fixture.database.pool.query(
                """
                INSERT INTO notification_messages
                    (id, user_id, category, title, body, deeplink_url, job_id, status, enqueued_at, due_at)
                VALUES (\(arrived.bits), 'arrived', 'reminder', '', '', '', '', 'sent', now(), now())
                """
            )
            let again = try await fixture.run(at: "2026-12-28T13:00:00Z")
            #expect(again.released == 1 && again.enqueued == 1 && again.duplicates == 0)
            let second = try await fixture.messageID(of: "dropped")
            #expect(second != first && second.instant == first.instant)
            #expect(try await fixture.run(at: "2026-12-28T14:00:00Z").released == 0)
        }
    }

    private func expire(_ user: String, _ fixture: ReminderFixture) async throws {
        let id = try await fixture.messageID(of: user)
        _ = try await fixture.database.pool.query(
            """
            INSERT INTO notification_events (at, message_id, user_id, job_id, ats, attempt, kind, category, reason)
            SELECT now(), \(id.bits), \(user), '', 1, 0, 'expired', 'reminder', 'outside_window'
            """
        )
        let at = try #require(Timestamp(rfc3339: "2026-12-28T12:30:00Z"))
        _ = try await fixture.database.pool.query("UPDATE notification_events SET at = \(at)")
    }

    @Test func `a sweep takes page after page and leaves nobody out (P1)`() async throws {
        try await ReminderFixture.run { fixture in
            // Many of the same millisecond, so that a page ends among them.
            let statements: [SQL] = [
                """
                INSERT INTO user_notification_preferences (user_id, ios_permission_status, timezone)
                SELECT 'u' || n, 'granted', CASE WHEN n % 5 = 0 THEN 'Europe/Oslo' ELSE 'UTC' END
                FROM generate_series(1, 3300) AS n
                """,
                """
                INSERT INTO devices (user_id, device_id, provider, platform, token, environment, topic, permission_status)
                SELECT 'u' || n, 'd', 'apns', 'ios', 't' || n, 'production', 'app', 'granted'
                FROM generate_series(1, 3300) AS n
                """,
                """
                INSERT INTO user_activity (user_id, last_activity_at, timezone)
                SELECT user_id, timestamptz '2026-12-20 00:00:00.0004+00'
                    + make_interval(secs => length(user_id) % 3), timezone FROM user_notification_preferences
                """,
            ]
            for statement in statements { _ = try await fixture.database.pool.query(statement) }
            let report = try await fixture.run(at: noon)
            #expect(report.enqueued == 3300 && report.zones == 2)
            #expect(try await fixture.waiting() == 3300)
        }
    }

    @Test func `a stop between pages leaves whole pages behind`() async throws {
        try await ReminderFixture.run { fixture in
            try await fixture.add("u", zone: "UTC", lastActivity: "2026-12-20T12:00:00Z")
            let report = try await fixture.producer(at: noon).run { true }
            #expect(report.isStopped && report.enqueued == 0)
            #expect(try await fixture.weeks() == [])
            #expect(try await fixture.run(at: noon).enqueued == 1)
        }
    }
}
