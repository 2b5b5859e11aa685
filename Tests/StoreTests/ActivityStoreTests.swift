import Kernel
import Notifications
import PostgresClient
import TestSupport
import Testing

@testable import Store

struct ActivityStoreTests {
    private let base = Timestamp(milliseconds: 1_796_083_200_000)

    private func report(_ user: String, _ seconds: Int) throws -> ActivityStore.Report {
        ActivityStore.Report(userID: try #require(UserID(user)), at: base + .seconds(seconds))
    }

    private func zones(_ database: TestDatabase) async throws -> [String: String?] {
        var zones: [String: String?] = [:]
        for row in try await database.pool.query("SELECT user_id, timezone FROM user_activity") {
            zones[try row.string("user_id")] = .some(try row.optionalString("timezone"))
        }
        return zones
    }

    @Test func `of many reports in any order the newest stays (G9)`() async throws {
        try await withMigratedDatabase { database in
            let store = ActivityStore(pool: database.pool)
            try await store.record([report("a", 5), report("b", 1), report("a", 9), report("a", 7)])
            try await store.record([report("a", 8), report("b", 3)])
            try await store.record([])
            let a = try await store.lastActivity(of: #require(UserID("a")))
            let b = try await store.lastActivity(of: #require(UserID("b")))
            let c = try await store.lastActivity(of: #require(UserID("c")))
            #expect(a == base + .seconds(9) && b == base + .seconds(3) && c == nil)
        }
    }

    @Test func `batches at once lose no report and do not lock each other out (G9)`() async throws {
        try await withMigratedDatabase { database in
            let store = ActivityStore(pool: database.pool)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for batch in 0..<16 {
                    let reports = try (0..<50).map { try report("u\($0)", ($0 * 31 + batch * 17) % 16) }
                    group.addTask { try await store.record(batch % 2 == 0 ? reports : reports.reversed()) }
                }
                try await group.waitForAll()
            }
            let rows = try await database.pool.query(
                "SELECT count(*) AS n, count(*) FILTER (WHERE last_activity_at = \(base + .seconds(15))) AS newest FROM user_activity"
            )
            #expect(try rows.first?.int("n") == 50)
            #expect(try rows.first?.int("newest") == 50)
        }
    }

    @Test func `the zone that reminders go by follows the preferences, whichever comes first (P5)`() async throws {
        try await withMigratedDatabase { database in
            let store = ActivityStore(pool: database.pool)
            let preferences = PreferenceStore(pool: database.pool)
            func move(_ user: String, to zone: String) async throws {
                var change = PreferenceStore.Change()
                change.timezone = zone
                _ = try await preferences.change(change, of: #require(UserID(user)))
            }
            try await store.record([report("early", 1)])
            #expect(try await zones(database) == ["early": nil])
            try await move("early", to: "Europe/Oslo")
            try await move("late", to: "Asia/Kathmandu")
            try await store.record([report("late", 1)])
            #expect(try await zones(database) == ["early": "Europe/Oslo", "late": "Asia/Kathmandu"])
            try await move("early", to: "Pacific/Chatham")
            #expect(try await zones(database)["early"] == "Pacific/Chatham")
        }
    }

    @Test func `every registration refreshes the zone that reminders go by (P5)`() async throws {
        try await withMigratedDatabase { database in
            let user = try #require(UserID("u"))
            try await ActivityStore(pool: database.pool).record([report("u", 1)])
            let devices = DeviceStore(pool: database.pool)
            for zone in ["Europe/Oslo", "America/St_Johns", "Mars/Olympus"] {
                var device = DeviceRecord(
                    deviceID: "d",
                    provider: .apns,
                    platform: "ios",
                    token: "aa",
                    environment: .production,
                    topic: "app"
                )
                device.timezone = zone
                try await devices.register(device, for: user)
            }
            #expect(try await zones(database) == ["u": "America/St_Johns"])
        }
    }

    @Test func `maintenance mends a zone that a race left behind (P5)`() async throws {
        try await withMigratedDatabase { database in
            try await ActivityStore(pool: database.pool).record([report("u", 1)])
            _ = try await database.pool.query(
                "INSERT INTO user_notification_preferences (user_id, timezone) VALUES ('u', 'Europe/Oslo')"
            )
            _ = try await database.pool.query("UPDATE user_activity SET timezone = 'Asia/Tokyo'")
            let maintenance = Maintenance(pool: database.pool)
            #expect(try await maintenance.run().zonesMended == 1)
            #expect(try await zones(database) == ["u": "Europe/Oslo"])
        }
    }
}
