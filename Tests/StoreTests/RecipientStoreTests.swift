import Kernel
import Notifications
import PostgresClient
import Store
import TestSupport
import Testing

struct RecipientStoreTests {
    private func query(
        _ user: String,
        id: MessageID = MessageIDGenerator(clock: SystemWallClock()).next(),
        source: String? = nil,
        opening: Int? = 8 * 60
    ) throws -> RecipientStore.Query {
        RecipientStore.Query(
            messageID: id,
            userID: try #require(UserID(user)),
            category: "campaign",
            sourceEntityID: source,
            enqueuedAt: SystemWallClock().now - .seconds(60),
            openingMinute: opening
        )
    }

    @Test func `one read answers for known, unknown and repeated users in the order asked`() async throws {
        try await withMigratedDatabase { database in
            _ = try await database.pool.query(
                """
                INSERT INTO user_notification_preferences
                    (user_id, ios_permission_status, timezone, language, categories, silence_until)
                VALUES ('a', 'granted', 'Asia/Kolkata', 'nb', '{"campaign": {"enabled": true}}', '2027-01-01T00:00:00Z'),
                    ('b', 'denied', 'Nowhere/Land', NULL, '{"campaign": {"enabled": "yes"}}', NULL)
                """
            )
            _ = try await database.pool.query(
                """
                INSERT INTO devices
                    (user_id, device_id, provider, platform, token, environment, topic, permission_status, registered_at,
                     invalidated_at)
                VALUES ('a', '1', 'apns', 'ios', 'aa', 'production', 'app', 'granted', '2026-11-01T00:00:00Z', NULL),
                    ('a', '2', 'apns', 'ios', 'bb', 'sandbox', 'app', 'provisional', now(), NULL),
                    ('a', '3', 'apns', 'ios', 'cc', 'production', 'app', 'denied', now(), NULL),
                    ('a', '4', 'apns', 'ios', 'dd', 'production', 'app', 'granted', now(), now()),
                    ('a', '5', 'apns', 'ios', NULL, 'production', 'app', 'granted', now(), NULL)
                """
            )
            let store = RecipientStore(pool: database.pool)
            let (now, found) = try await store.recipients(for: [query("a"), query("ghost"), query("b"), query("a")])
            #expect(found.count == 4)
            #expect(found[0] == found[3])
            #expect(found[0].isPermissionGranted)
            #expect(found[0].devices.map(\.token) == ["aa", "bb"])
            #expect(found[0].devices.map(\.environment) == [.production, .sandbox])
            #expect(found[0].devices[0].registeredAt == Timestamp(rfc3339: "2026-11-01T00:00:00Z"))
            #expect(found[0].categorySwitch == true)
            #expect(found[0].language == "nb")
            #expect(found[0].silenceUntil == Timestamp(rfc3339: "2027-01-01T00:00:00Z"))
            #expect(
                found[1]
                    == Recipient(
                        localMinute: found[2].localMinute,
                        weekKey: found[2].weekKey,
                        nextOpening: found[2].nextOpening
                    )
            )
            #expect(!found[2].isPermissionGranted)
            #expect(found[2].categorySwitch == nil, "a switch that is no boolean counts as not chosen")
            // Kolkata is five and a half hours ahead of UTC, which is what an unknown zone counts as.
            #expect((found[0].localMinute - found[2].localMinute + 1440) % 1440 == 330)
            let opening = try #require(found[0].nextOpening)
            #expect(opening > now && opening - now <= .seconds(86_400))
            #expect((opening.seconds + 330 * 60) % 86_400 == 8 * 3600)
        }
    }

    @Test func `users of unknown zone live by the hours of the default zone, and by weeks of UTC (E11, R1)`()
        async throws
    {
        try await withMigratedDatabase { database in
            _ = try await database.pool.query(
                """
                INSERT INTO user_notification_preferences (user_id, timezone)
                VALUES ('utc', 'UTC'), ('strange', 'Nowhere/Land'), ('none', NULL), ('oslo', 'Europe/Oslo')
                """
            )
            // Fourteen hours ahead: its day, and on Sundays its week, is another.
            let store = RecipientStore(pool: database.pool, defaultZone: "Pacific/Kiritimati")
            let (_, found) = try await store.recipients(
                for: [query("utc"), query("strange"), query("none"), query("ghost"), query("oslo")]
            )
            let utc = found[0]
            for recipient in found[1...3] {
                #expect((recipient.localMinute - utc.localMinute + 1440) % 1440 == 14 * 60)
                #expect(recipient.weekKey == utc.weekKey)
                let opening = try #require(recipient.nextOpening)
                #expect((opening.seconds + 14 * 3600) % 86_400 == 8 * 3600)
            }
            // A zone that is known is the user's own.
            #expect([60, 120].contains((found[4].localMinute - utc.localMinute + 1440) % 1440))
        }
    }

    @Test(arguments: [
        ("2026-12-31T23:30:00Z", "UTC", "2026-W53", 1410), ("2026-12-31T23:30:00Z", "Europe/Oslo", "2026-W53", 30),
        ("2027-01-03T23:30:00Z", "Europe/Oslo", "2027-W01", 30),
        ("2027-01-03T23:30:00Z", "America/New_York", "2026-W53", 1110),
        ("2024-12-30T12:00:00Z", "UTC", "2025-W01", 720), ("2026-03-29T01:30:00Z", "Europe/Oslo", "2026-W13", 210),
    ])
    func `weeks and wall clocks follow ISO 8601 and the zone (R1)`(
        moment: String,
        zone: String,
        week: String,
        minute: Int
    ) async throws {
        // The statement's own expressions, at a fixed moment instead of the present.
        try await withMigratedDatabase { database in
            let moment = try #require(Timestamp(rfc3339: moment))
            let rows = try await database.pool.query(
                """
                SELECT to_char(time, 'IYYY-"W"IW') AS week,
                    extract(hour FROM time)::int * 60 + extract(minute FROM time)::int AS minute
                FROM (SELECT \(moment) AT TIME ZONE \(zone) AS time) AS wall
                """
            )
            let row = try #require(rows.first)
            #expect(try row.string("week") == week)
            #expect(try row.int("minute") == minute)
        }
    }

    @Test(arguments: [("infinity", true), ("-infinity", false)])
    func `a silence without end is silence, and spoils no group`(end: String, isSilent: Bool) async throws {
        try await withMigratedDatabase { database in
            _ = try await database.pool.query(
                "INSERT INTO user_notification_preferences (user_id, silence_until) VALUES ('a', \(end)::timestamptz)"
            )
            let (now, found) = try await RecipientStore(pool: database.pool).recipients(for: [query("a")])
            #expect(found.first?.silenceUntil.map { $0 > now } ?? false == isSilent)
        }
    }

    @Test(arguments: [("user", "u"), ("source", "cmp:1"), ("message", "")])
    func `a cancellation reaches older jobs only`(scope: String, key: String) async throws {
        try await withMigratedDatabase { database in
            let id = MessageIDGenerator(clock: SystemWallClock()).next()
            let key = key.isEmpty ? id.description : key
            _ = try await database.pool.query(
                """
                INSERT INTO cancellations (scope, key, before, reason)
                SELECT scope, CASE scope WHEN 'user' THEN varsel_user_key(key) ELSE key END, now(), 'stopped'
                FROM (SELECT \(scope) AS scope, \(key) AS key) AS given
                """
            )
            let store = RecipientStore(pool: database.pool)
            let older = try await store.recipients(for: [query("u", id: id, source: "cmp:1")])
            #expect(older.1.first?.cancellationReason == "stopped")
            _ = try await database.pool.query("UPDATE cancellations SET before = now() - interval '1 hour'")
            let newer = try await store.recipients(for: [query("u", id: id, source: "cmp:1")])
            #expect(newer.1.first?.cancellationReason == nil)
        }
    }

    @Test func `unread messages are counted only when asked for, without the one that is sent now`() async throws {
        try await withMigratedDatabase { database in
            let ids = MessageIDGenerator.inOrder
            let own = ids.next()
            for (id, status, isRead) in [
                (own, "pending", false), (ids.next(), "sent", false), (ids.next(), "unknown", false),
                (ids.next(), "sent", true), (ids.next(), "failed", false),
            ] {
                _ = try await database.pool.query(
                    """
                    INSERT INTO notification_messages
                        (id, user_id, category, title, body, deeplink_url, job_id, status, enqueued_at, due_at, read_at)
                    VALUES (\(id.bits), 'u', 'reminder', '', '', '', '', \(status), now(), now(),
                        CASE WHEN \(isRead) THEN now() END)
                    """
                )
            }
            let counting = RecipientStore(pool: database.pool, countsUnread: true)
            let counted = try await counting.recipients(for: [query("u", id: own), query("v")])
            #expect(counted.1.map(\.unread) == [2, 0])
            let silent = try await RecipientStore(pool: database.pool).recipients(for: [query("u", id: own)])
            #expect(silent.1.map(\.unread) == [nil])
        }
    }
}
