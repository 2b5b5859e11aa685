import Kernel
import Notifications
import PostgresClient
import Store
import TestSupport
import Testing

@testable import Producers

struct ReminderZoneTests {
    @Test(arguments: [
        // Half-open: 20:59:59 is in, 21:00:00 is out; 07:59:59 is out, 08:00:00 is in.
        ("Asia/Kathmandu", "2026-06-15T15:14:59Z", true), ("Asia/Kathmandu", "2026-06-15T15:15:00Z", false),
        ("Asia/Kathmandu", "2026-06-16T02:14:59Z", false), ("Asia/Kathmandu", "2026-06-16T02:15:00Z", true),
        ("Pacific/Chatham", "2026-06-15T19:14:59Z", false), ("Pacific/Chatham", "2026-06-15T19:15:00Z", true),
        ("America/St_Johns", "2026-06-15T10:29:59Z", false), ("America/St_Johns", "2026-06-15T10:30:00Z", true),
        ("Australia/Eucla", "2026-06-15T23:14:59Z", false), ("Australia/Eucla", "2026-06-15T23:15:00Z", true),
        ("Pacific/Kiritimati", "2026-06-15T17:59:59Z", false), ("Pacific/Kiritimati", "2026-06-15T18:00:00Z", true),
        // Days on which clocks change: the offset of the new day counts.
        ("Europe/Kyiv", "2026-03-29T04:59:59Z", false), ("Europe/Kyiv", "2026-03-29T05:00:00Z", true),
        ("Europe/Kyiv", "2026-10-25T05:59:59Z", false), ("Europe/Kyiv", "2026-10-25T06:00:00Z", true),
        ("Australia/Lord_Howe", "2026-04-04T21:29:59Z", false), ("Australia/Lord_Howe", "2026-04-04T21:30:00Z", true),
        ("America/Santiago", "2026-09-06T10:59:59Z", false), ("America/Santiago", "2026-09-06T11:00:00Z", true),
    ])
    func `reminders come from 08:00 up to 21:00 on the user's wall (P1)`(
        zone: String,
        moment: String,
        isOpen: Bool
    ) async throws {
        try await ReminderFixture.run { fixture in
            let now = try #require(Timestamp(rfc3339: moment))
            try await fixture.add("u", zone: zone, lastActivity: (now - .seconds(10 * 86_400)).rfc3339)
            #expect(try await fixture.run(at: moment).enqueued == (isOpen ? 1 : 0))
        }
    }

    @Test(arguments: [
        ("Pacific/Kiritimati", "2027-W01"), ("Pacific/Chatham", "2027-W01"), ("Asia/Kathmandu", "2027-W01"),
        ("Europe/Kyiv", "2027-W01"), ("UTC", "2026-W53"), ("America/St_Johns", "2026-W53"),
        ("America/Los_Angeles", "2026-W53"), ("Pacific/Pago_Pago", "2026-W53"),
    ])
    func `the week is the one on the user's wall (P4, R1)`(zone: String, week: String) async throws {
        try await ReminderFixture.run { fixture in
            try await fixture.add("u", zone: zone, lastActivity: "2026-12-20T12:00:00Z")
            let zones = try await fixture.store.zones(at: #require(Timestamp(rfc3339: "2027-01-03T23:30:00Z")))
            #expect(zones.map(\.weekKey) == [week])
        }
    }

    @Test
    func `an hourly run reminds in every zone by day, half and quarter hours too, and makes up for missed runs (P1)`()
        async throws
    {
        try await ReminderFixture.run { fixture in
            let zones = [
                "Asia/Kathmandu", "Asia/Kolkata", "Pacific/Chatham", "Australia/Eucla", "Pacific/Marquesas", "UTC",
                "America/Los_Angeles", "Pacific/Kiritimati",
            ]
            for (index, zone) in zones.enumerated() {
                try await fixture.add("u\(index)", zone: zone, lastActivity: "2026-06-01T12:00:00Z")
            }
            let start = try #require(Timestamp(rfc3339: "2026-06-16T00:00:00Z"))
            // The runs of 05:00 to 11:00 are missed.
            for hour in 0..<24 where !(5...11).contains(hour) {
                try await fixture.run(at: (start + .seconds(hour * 3600)).rfc3339)
            }
            let rows = try await fixture.database.pool.query(
                """
                SELECT a.timezone, extract(epoch FROM (r.claimed_at AT TIME ZONE a.timezone)::time)::int / 60 AS minute
                FROM reminder_weeks r JOIN user_activity a USING (user_id)
                """
            )
            #expect(rows.count == zones.count)
            for row in rows {
                let (zone, minute) = (try row.string("timezone"), try row.int("minute"))
                #expect((480..<1260).contains(minute), "\(zone) at \(minute)")
            }
        }
    }

    @Test func `moving to another zone gives no second reminder for a week (P4, P5)`() async throws {
        try await ReminderFixture.run { fixture in
            // Sunday evening in Oslo is Monday morning in Kiritimati, and the way back leads into the old week.
            try await fixture.add("u", zone: "Europe/Oslo", lastActivity: "2026-12-20T12:00:00Z")
            func move(to zone: String) async throws {
                _ = try await fixture.database.pool.query("UPDATE user_notification_preferences SET timezone = \(zone)")
            }
            #expect(try await fixture.run(at: "2027-01-03T19:00:00Z").enqueued == 1)
            try await move(to: "Pacific/Kiritimati")
            #expect(try await fixture.run(at: "2027-01-03T19:10:00Z").enqueued == 1)
            try await move(to: "America/Los_Angeles")
            #expect(try await fixture.run(at: "2027-01-03T19:20:00Z").enqueued == 0)
            try await move(to: "Pacific/Kiritimati")
            #expect(try await fixture.run(at: "2027-01-04T04:00:00Z").enqueued == 0)
            #expect(try await fixture.weeks() == ["u 2026-W53 enqueued", "u 2027-W01 enqueued"])
        }
    }

    @Test func `who would not get it is left out, and a rehearsal counts why (P1, E1-E3)`() async throws {
        try await ReminderFixture.run { fixture in
            let long = "2026-12-20T12:00:00Z"
            for user in [
                "due", "later", "denied", "tokenless", "quiet", "spoken", "off", "on", "had", "nowhere", "mars",
            ] {
                try await fixture.add(user, zone: "UTC", lastActivity: long)
            }
            try await fixture.add("away", zone: "Asia/Tokyo", lastActivity: long)
            try await fixture.add("fresh", zone: "UTC", lastActivity: "2026-12-27T12:00:00Z")
            try await fixture.add("gone", zone: "UTC", lastActivity: "2026-11-01T12:00:00Z")
            try await fixture.add("never", zone: "UTC", lastActivity: nil)
            let statements: [SQL] = [
                "UPDATE user_notification_preferences SET ios_permission_status = 'denied' WHERE user_id = 'denied'",
                "UPDATE devices SET invalidated_at = now() WHERE user_id = 'tokenless'",
                "UPDATE user_notification_preferences SET silence_until = '2027-02-01' WHERE user_id = 'quiet'",
                "UPDATE user_notification_preferences SET silence_until = '2026-12-28 12:00+00' WHERE user_id = 'spoken'",
                """
                UPDATE user_notification_preferences SET categories = '{"reminder":{"enabled":false}}' WHERE user_id = 'off'
                """,
                """
                UPDATE user_notification_preferences SET categories = '{"reminder":{"enabled":"what"}}' WHERE user_id = 'on'
                """,
                "UPDATE user_notification_preferences SET timezone = NULL WHERE user_id = 'nowhere'",
                "UPDATE user_notification_preferences SET timezone = 'Mars/Olympus' WHERE user_id = 'mars'",
                """
                INSERT INTO reminder_weeks VALUES
                    ('had', '2026-W53', '019b6200-0000-7000-8000-000000000000', 2, 'enqueued', '2026-12-28 09:00+00')
                """,
            ]
            for statement in statements { _ = try await fixture.database.pool.query(statement) }
            let producer = try fixture.producer(at: "2026-12-28T12:00:00Z")
            var lines: [String] = []
            try await ReminderRehearsal(
                producer: producer,
                store: fixture.store,
                catalog: Catalog.standard(appName: "Test App"),
                now: #require(Timestamp(rfc3339: "2026-12-28T12:00:00Z"))
            )
            .tell { lines.append($0) }
            #expect(lines.filter { $0.contains("step 2") }.count == 4)
            #expect(lines.contains("due  UTC  2026-W53  8 days  step 2  Test App is here when you need it."))
            let counts = lines.filter { $0.hasPrefix("  ") }.map { $0.trimmingPrefix("  ") }
            #expect(
                counts.map(String.init) == [
                    "active 1", "category_off 1", "due 4", "no_activity 1", "outside_window 1", "permission 2",
                    "silence 1", "silent 1", "this_week 1", "unknown_zone 2",
                ]
            )
            #expect(try await fixture.waiting() == 0)
            #expect(try await producer.run().enqueued == 4)
            #expect(try await fixture.jobs().keys.sorted() == ["due", "later", "on", "spoken"])
        }
    }
}
