import Kernel
import Notifications
import PostgresClient
import Store
import TestSupport
import Testing

struct DeviceStoreTests {
    private let alice = UserID("alice")
    private let bob = UserID("bob")

    private func device(
        _ token: String?,
        id: String? = "iPhone15,2",
        permission: DeviceRecord.Permission? = nil,
        timezone: String? = nil
    ) -> DeviceRecord {
        DeviceRecord(
            deviceID: id,
            provider: .apns,
            platform: "ios",
            token: token,
            environment: .production,
            topic: "app",
            permission: permission,
            timezone: timezone
        )
    }

    private func permission(_ database: TestDatabase, _ user: UserID) async throws -> String? {
        try await PreferenceStore(pool: database.pool).preferences(of: user).permission
    }

    /// `user:device:token` of every row, in order; a dead one has a cross.
    private func rows(_ database: TestDatabase) async throws -> [String] {
        let rows = try await database.pool.query(
            """
            SELECT concat_ws(':', coalesce(user_id, '-'), coalesce(device_id, '-'), coalesce(token, '-'))
                || CASE WHEN invalidated_at IS NULL THEN '' ELSE '✗' END AS line
            FROM devices ORDER BY 1
            """
        )
        return try rows.map { row in try row.string("line") }
    }

    @Test func `a registration grants permission and sets a known zone (G1)`() async throws {
        try await withMigratedDatabase { database in
            let alice = try #require(alice)
            let store = DeviceStore(pool: database.pool)
            try await store.register(device("aa", timezone: "Europe/Oslo"), for: alice)
            let preferences = try await PreferenceStore(pool: database.pool).preferences(of: alice)
            #expect(preferences.permission == "granted")
            #expect(preferences.timezone == "Europe/Oslo")
            try await store.register(device("aa", timezone: "Nowhere/Land"), for: alice)
            let zone = try await PreferenceStore(pool: database.pool).preferences(of: alice).timezone
            #expect(zone == "Europe/Oslo")
            #expect(try await rows(database) == ["alice:iPhone15,2:aa"])
        }
    }

    @Test func `a new token for the same user and device replaces the old and keeps the row (G1)`() async throws {
        try await withMigratedDatabase { database in
            let alice = try #require(alice)
            let store = DeviceStore(pool: database.pool)
            try await store.register(device("aa"), for: alice)
            let before = try await database.pool.query("SELECT id FROM devices").first?.int64("id")
            try await store.register(device("bb"), for: alice)
            let after = try await database.pool.query("SELECT id FROM devices").first?.int64("id")
            #expect(before == after)
            #expect(try await rows(database) == ["alice:iPhone15,2:bb"])
        }
    }

    @Test func `a token moves to the user who signs in on the device, and the other loses permission`() async throws {
        try await withMigratedDatabase { database in
            let (alice, bob) = (try #require(alice), try #require(bob))
            let store = DeviceStore(pool: database.pool)
            try await store.register(device("aa"), for: alice)
            try await store.register(device("aa"), for: bob)
            #expect(try await rows(database) == ["bob:iPhone15,2:aa"])
            #expect(try await permission(database, alice) == "notDetermined")
            #expect(try await permission(database, bob) == "granted")
        }
    }

    @Test func `without a token the other fields change and the token stays (G1)`() async throws {
        try await withMigratedDatabase { database in
            let alice = try #require(alice)
            let store = DeviceStore(pool: database.pool)
            try await store.register(device("aa"), for: alice)
            try await store.register(device(nil, timezone: "Asia/Tokyo"), for: alice)
            #expect(try await rows(database) == ["alice:iPhone15,2:aa"])
            #expect(try await permission(database, alice) == "granted")
            try await store.register(device(nil, permission: .denied), for: alice)
            #expect(try await rows(database) == ["alice:iPhone15,2:aa"])
            #expect(try await permission(database, alice) == "denied")
            let zone = try await PreferenceStore(pool: database.pool).preferences(of: alice).timezone
            #expect(zone == "Asia/Tokyo")
        }
    }

    @Test func `without token and device id only the zone changes`() async throws {
        try await withMigratedDatabase { database in
            let alice = try #require(alice)
            try await DeviceStore(pool: database.pool)
                .register(device(nil, id: nil, timezone: "Asia/Tokyo"), for: alice)
            #expect(try await rows(database) == [])
            let preferences = try await PreferenceStore(pool: database.pool).preferences(of: alice)
            #expect(preferences.timezone == "Asia/Tokyo")
            #expect(preferences.permission == "notDetermined")
        }
    }

    @Test func `a device without an id is known by its token`() async throws {
        try await withMigratedDatabase { database in
            let alice = try #require(alice)
            let store = DeviceStore(pool: database.pool)
            try await store.registerAnonymously(device("aa", id: nil))
            try await store.register(device("aa", id: nil), for: alice)
            try await store.register(device("aa", id: nil), for: alice)
            try await store.register(device("bb", id: nil), for: alice)
            #expect(try await rows(database) == ["alice:-:aa", "alice:-:bb"])
        }
    }

    @Test func `a caller without a bearer makes rows of nobody and cannot touch a user's (G1)`() async throws {
        try await withMigratedDatabase { database in
            let alice = try #require(alice)
            let store = DeviceStore(pool: database.pool)
            try await store.register(device("aa"), for: alice)
            _ = try await store.invalidate(
                device: try #require(try await database.pool.query("SELECT id FROM devices").first?.int64("id")),
                of: alice,
                token: "aa",
                registeredBefore: SystemWallClock().now + .seconds(60),
                reason: "Unregistered"
            )
            // The same token and the same device id as Alice's: neither revives the row nor detaches it.
            try await store.registerAnonymously(device("aa"))
            try await store.registerAnonymously(device("bb"))
            try await store.registerAnonymously(device(nil))
            #expect(try await rows(database) == ["-:iPhone15,2:bb", "alice:iPhone15,2:aa✗"])
            #expect(try await permission(database, alice) == "denied")
        }
    }

    @Test func `signing in takes over the row of nobody`() async throws {
        try await withMigratedDatabase { database in
            let alice = try #require(alice)
            let store = DeviceStore(pool: database.pool)
            try await store.registerAnonymously(device("aa"))
            try await store.register(device("aa"), for: alice)
            #expect(try await rows(database) == ["alice:iPhone15,2:aa"])
        }
    }

    @Test func `nobody's row is taken over by its token although the user has a device of that name (G1)`() async throws
    {
        try await withMigratedDatabase { database in
            let alice = try #require(alice)
            let store = DeviceStore(pool: database.pool)
            try await store.register(device("aa"), for: alice)
            try await store.registerAnonymously(device("bb"))
            try await store.register(device("bb", id: nil), for: alice)
            #expect(try await rows(database) == ["alice:-:bb", "alice:iPhone15,2:aa"])
        }
    }

    @Test func `only the caller's own token is removed (G2)`() async throws {
        try await withMigratedDatabase { database in
            let (alice, bob) = (try #require(alice), try #require(bob))
            let store = DeviceStore(pool: database.pool)
            try await store.register(device("aa"), for: alice)
            try await store.register(device("bb"), for: bob)
            try await store.unregister(token: "bb", provider: .apns, of: alice)
            try await store.unregister(token: "aa", provider: .fcm, of: alice)
            #expect(try await rows(database) == ["alice:iPhone15,2:aa", "bob:iPhone15,2:bb"])
            try await store.unregister(token: "aa", provider: .apns, of: alice)
            #expect(try await rows(database) == ["bob:iPhone15,2:bb"])
            #expect(try await permission(database, alice) == "notDetermined")
        }
    }

    @Test func `a dead token goes, and with the last one the permission (E9)`() async throws {
        try await withMigratedDatabase { database in
            let alice = try #require(alice)
            let store = DeviceStore(pool: database.pool)
            try await store.register(device("aa", id: "1"), for: alice)
            try await store.register(device("bb", id: "2"), for: alice)
            let ids = try await database.pool.query("SELECT id FROM devices ORDER BY token")
            let later = SystemWallClock().now + .seconds(60)
            let first = try await store.invalidate(
                device: ids[0].int64("id"),
                of: alice,
                token: "aa",
                registeredBefore: later,
                reason: "Unregistered"
            )
            #expect(first == .init(tokenRemoved: true, permissionRevoked: false))
            let second = try await store.invalidate(
                device: ids[1].int64("id"),
                of: alice,
                token: "bb",
                registeredBefore: later,
                reason: "BadDeviceToken"
            )
            #expect(second == .init(tokenRemoved: true, permissionRevoked: true))
            #expect(try await permission(database, alice) == "denied")
            // Registering again is the source of truth.
            try await store.register(device("aa", id: "1"), for: alice)
            #expect(try await permission(database, alice) == "granted")
            #expect(try await rows(database) == ["alice:1:aa", "alice:2:bb✗"])
        }
    }

    @Test(arguments: [("aa", -60), ("old", 60)])
    func `a token registered since, or replaced, survives an old verdict (E9)`(
        token: String,
        seconds: Int
    ) async throws {
        try await withMigratedDatabase { database in
            let alice = try #require(alice)
            let store = DeviceStore(pool: database.pool)
            try await store.register(device("aa"), for: alice)
            let result = try await store.invalidate(
                device: try #require(try await database.pool.query("SELECT id FROM devices").first?.int64("id")),
                of: alice,
                token: token,
                registeredBefore: SystemWallClock().now + .seconds(seconds),
                reason: "Unregistered"
            )
            #expect(result == .init(tokenRemoved: false, permissionRevoked: false))
            #expect(try await permission(database, alice) == "granted")
        }
    }

    @Test func `an FCM token of four kilobytes fits`() async throws {
        try await withMigratedDatabase { database in
            let alice = try #require(alice)
            var generator = SystemRandomNumberGenerator()
            let token = String(
                (0..<4096).map { _ in "abcdefghijklmnopqrstuvwxyz0123456789".randomElement(using: &generator) ?? "a" }
            )
            try await DeviceStore(pool: database.pool).register(device(token), for: alice)
            #expect(try await rows(database) == ["alice:iPhone15,2:\(token)"])
        }
    }

    @Test func `tokens that rotate at once on one device leave one row, and a token one owner (G1)`() async throws {
        try await withMigratedDatabase { database in
            let (alice, bob) = (try #require(alice), try #require(bob))
            let store = DeviceStore(pool: database.pool)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for round in 0..<40 {
                    group.addTask {
                        // Each token moves between two users, while each device takes one token after another.
                        try await store.register(device("t\(round % 5)"), for: round % 2 == 0 ? alice : bob)
                    }
                }
                try await group.waitForAll()
            }
            let rows = try await database.pool.query("SELECT user_id, device_id, token FROM devices")
            let devices = try rows.map { row in "\(try row.string("user_id")) \(try row.string("device_id"))" }
            let tokens = try rows.map { row in try row.string("token") }
            #expect(Set(devices).count == rows.count)
            #expect(Set(tokens).count == rows.count)
            #expect((1...2).contains(rows.count))
        }
    }

    @Test func `registrations and verdicts at once leave permission and devices in agreement (E9)`() async throws {
        try await withMigratedDatabase { database in
            let (alice, bob) = (try #require(alice), try #require(bob))
            let store = DeviceStore(pool: database.pool)
            let later = SystemWallClock().now + .seconds(600)
            try await store.register(device("aa"), for: alice)
            let id = try #require(try await database.pool.query("SELECT id FROM devices").first?.int64("id"))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for round in 0..<40 {
                    group.addTask {
                        switch round % 4 {
                        case 0: try await store.register(device("aa"), for: alice)
                        case 1: try await store.register(device("aa"), for: bob)
                        case 2: try await store.register(device("bb"), for: alice)
                        default:
                            _ = try await store.invalidate(
                                device: id,
                                of: alice,
                                token: "aa",
                                registeredBefore: later,
                                reason: "Unregistered"
                            )
                        }
                    }
                }
                try await group.waitForAll()
            }
            let disagreeing = try await database.pool.query(
                """
                SELECT p.user_id FROM user_notification_preferences p
                WHERE (p.ios_permission_status = 'granted') <> EXISTS (
                    SELECT FROM devices d WHERE d.user_id = p.user_id AND d.token IS NOT NULL AND d.invalidated_at IS NULL)
                """
            )
            #expect(disagreeing.isEmpty)
        }
    }
}
