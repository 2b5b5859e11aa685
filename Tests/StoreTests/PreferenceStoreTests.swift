import Kernel
import Notifications
import PostgresClient
import Store
import TestSupport
import Testing

struct PreferenceStoreTests {
    @Test func `a user without a row has the defaults`() async throws {
        try await withMigratedDatabase { database in
            let user = try #require(UserID("u"))
            let found = try await PreferenceStore(pool: database.pool).preferences(of: user)
            #expect(found == PreferenceStore.Preferences())
        }
    }

    @Test func `a change touches what it names and nothing else (G6)`() async throws {
        try await withMigratedDatabase { database in
            let user = try #require(UserID("u"))
            let store = PreferenceStore(pool: database.pool)
            var change = PreferenceStore.Change()
            change.switches = ["reminder": false, "campaign": true]
            change.timezone = "Europe/Oslo"
            change.language = "nb"
            change.silenceUntil = .some(Timestamp(rfc3339: "2027-01-01T00:00:00Z"))
            let first = try #require(try await store.change(change, of: user))
            #expect(first.categories["reminder"]?.isEnabled == false)
            #expect(first.categories["campaign"]?.isEnabled == true)
            #expect(first.timezone == "Europe/Oslo")
            #expect(first.language == "nb")
            #expect(first.silenceUntil == Timestamp(rfc3339: "2027-01-01T00:00:00Z"))

            _ = try await database.pool.query(
                """
                UPDATE user_notification_preferences
                SET categories = jsonb_set(categories, '{reminder,lastSentAt}', '"2026-11-01T09:00:00Z"')
                """
            )
            var second = PreferenceStore.Change()
            second.switches = ["reminder": true]
            second.silenceUntil = .some(nil)
            let after = try #require(try await store.change(second, of: user))
            #expect(after.categories["reminder"]?.isEnabled == true)
            #expect(after.categories["reminder"]?.lastSentAt == Timestamp(rfc3339: "2026-11-01T09:00:00Z"))
            #expect(after.categories["campaign"]?.isEnabled == true)
            #expect(after.silenceUntil == nil)
            #expect(after.timezone == "Europe/Oslo")
            #expect(try await store.preferences(of: user) == after)
        }
    }

    @Test(arguments: [
        (DeviceRecord.Permission.granted, "granted"), (.provisional, "granted"), (.ephemeral, "granted"),
        (.denied, "denied"), (.notDetermined, "notDetermined"),
    ])
    func `permission is kept in three words`(given: DeviceRecord.Permission, stored: String) async throws {
        try await withMigratedDatabase { database in
            var change = PreferenceStore.Change()
            change.permission = given
            let user = try #require(UserID("u"))
            let found = try await PreferenceStore(pool: database.pool).change(change, of: user)
            #expect(found?.permission == stored)
        }
    }

    @Test func `an unknown zone changes nothing`() async throws {
        try await withMigratedDatabase { database in
            let user = try #require(UserID("u"))
            let store = PreferenceStore(pool: database.pool)
            var change = PreferenceStore.Change()
            change.timezone = "CEST"
            change.language = "nb"
            #expect(try await store.change(change, of: user) == nil)
            #expect(try await store.preferences(of: user) == PreferenceStore.Preferences())
        }
    }

    @Test func `switches changed at once are all kept`() async throws {
        try await withMigratedDatabase { database in
            let user = try #require(UserID("u"))
            let store = PreferenceStore(pool: database.pool)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        var change = PreferenceStore.Change()
                        change.switches = ["c\(number)": number % 2 == 0]
                        _ = try await store.change(change, of: user)
                    }
                }
                try await group.waitForAll()
            }
            let found = try await store.preferences(of: user).categories
            #expect(found.count == 20)
            #expect(found["c3"]?.isEnabled == false)
        }
    }

    @Test func `history is forgotten and choices stay`() async throws {
        try await withMigratedDatabase { database in
            let user = try #require(UserID("u"))
            _ = try await database.pool.query(
                """
                INSERT INTO user_notification_preferences (user_id, silence_until, categories)
                VALUES ('u', now(), '{"reminder": {"enabled": false, "lastSentAt": "2026-11-01T09:00:00Z"}, "x": 1}')
                """
            )
            let store = PreferenceStore(pool: database.pool)
            try await store.forgetHistory(of: user)
            let found = try await store.preferences(of: user)
            #expect(found.silenceUntil == nil)
            #expect(found.categories == ["reminder": .init(isEnabled: false)])
        }
    }

    @Test func `zones that left the table come back`() async throws {
        try await withMigratedDatabase { database in
            let zones = TimeZoneStore(pool: database.pool)
            _ = try await database.pool.query("DELETE FROM time_zones WHERE name = 'Europe/Oslo'")
            #expect(try await !zones.isKnown("Europe/Oslo"))
            #expect(try await zones.refresh() == 1)
            #expect(try await zones.isKnown("Europe/Oslo"))
            #expect(try await !zones.isKnown("EST5EDT4"))
        }
    }
}
