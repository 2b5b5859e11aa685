import PostgresClient
import Store
import TestSupport
import Testing

struct SchemaTests {
    @Test func `migrating brings an empty database up to date, and a second time does nothing`() async throws {
        try await TestDatabase.with { database in
            await #expect(throws: SchemaVersion.Mismatch.self) { try await SchemaVersion.check(database.pool) }
            let migrator = Migrator(pool: database.pool)
            let first = try await migrator.migrate()
            #expect(first == Migrator.migrations.map(\.name))
            let second = try await migrator.migrate()
            #expect(second == [])
            try await SchemaVersion.check(database.pool)
        }
    }

    @Test func `two migrators at once apply each file once`() async throws {
        try await TestDatabase.with { database in
            let migrator = Migrator(pool: database.pool)
            async let first = migrator.migrate()
            async let second = migrator.migrate()
            let applied = try await first + second
            #expect(applied == Migrator.migrations.map(\.name))
        }
    }

    @Test func `a newer database and a changed file are refused with the remedy`() async throws {
        try await withMigratedDatabase { database in
            _ = try await database.pool.query("UPDATE schema_migrations SET checksum = 'x' WHERE version = 1")
            let changed = await #expect(throws: Migrator.MigrationError.self) {
                _ = try await Migrator(pool: database.pool).migrate()
            }
            #expect(changed?.description.contains("new migration") == true)
            _ = try await database.pool.query("INSERT INTO schema_migrations VALUES (9999, 'x', 'x')")
            await #expect(throws: Migrator.MigrationError.self) {
                _ = try await Migrator(pool: database.pool).migrate()
            }
            let mismatch = await #expect(throws: SchemaVersion.Mismatch.self) {
                try await SchemaVersion.check(database.pool)
            }
            #expect(mismatch?.description.contains("newer build") == true)
        }
    }

    @Test func `a database serves one queue only`() async throws {
        try await withMigratedDatabase { database in
            try await Deployment.claim(database.pool, prefix: "bull", queue: "notification-deliver")
            try await Deployment.claim(database.pool, prefix: "bull", queue: "notification-deliver")
            let error = await #expect(throws: Deployment.Mismatch.self) {
                try await Deployment.claim(database.pool, prefix: "other", queue: "notification-deliver")
            }
            #expect(error?.recorded == "bull:notification-deliver")
        }
    }

    @Test func `maintenance makes what lies ahead and drops what is past its months (O3)`() async throws {
        try await withMigratedDatabase { database in
            _ = try await database.pool.query(
                "DROP TABLE \(unescaped: "notification_messages_" + Self.month(ahead: 4))"
            )
            let old = "notification_events_2020_01"
            _ = try await database.pool.query(
                """
                CREATE TABLE \(unescaped: old) PARTITION OF notification_events
                FOR VALUES FROM ('2020-01-01') TO ('2020-02-01')
                """
            )
            _ = try await database.pool.query(
                """
                INSERT INTO devices (user_id, provider, platform, token, environment, topic, permission_status,
                    registered_at)
                VALUES (NULL, 'apns', 'ios', 'aa', 'production', 'app', 'granted', now() - interval '31 days'),
                    (NULL, 'apns', 'ios', 'bb', 'production', 'app', 'granted', now()),
                    ('u', 'apns', 'ios', 'cc', 'production', 'app', 'granted', now() - interval '31 days')
                """
            )
            _ = try await database.pool.query(
                """
                INSERT INTO cancellations (scope, key, before, reason)
                VALUES ('source', 'old', now() - interval '401 days', ''), ('source', 'new', now(), '')
                """
            )
            _ = try await database.pool.query(
                """
                INSERT INTO live_activity_sessions
                    (stream_id, user_id, device_id, token, environment, topic, registered_at)
                VALUES ('s', 'u', 'd', 'aa', 'production', 'app', now() - interval '49 hours'),
                    ('s', 'u', 'e', 'bb', 'production', 'app', now() - interval '47 hours')
                """
            )
            _ = try await database.pool.query(
                """
                INSERT INTO app_store_notifications (environment, notification_uuid, notification_type, signed_at, facts,
                    signed_payload, state, received_at)
                SELECT 'production', gen_random_uuid(), 'TEST', moment, '{}', '', state, moment
                FROM (SELECT now() - make_interval(months => months) AS moment, state
                    FROM (VALUES (14, 'done'), (14, 'unlinked'), (14, 'received'), (12, 'done')) AS v(months, state)) AS given
                """
            )
            _ = try await database.pool.query(
                """
                INSERT INTO subscription_links (environment, original_transaction_id, user_id, transaction, state, received_at)
                VALUES ('production', '1', 'u', '{}', 'done', now() - interval '14 months'),
                    ('production', '2', 'u', '{}', 'received', now() - interval '14 months'),
                    ('production', '3', 'u', '{}', 'done', now())
                """
            )
            _ = try await database.pool.query("DELETE FROM time_zones WHERE name = 'Europe/Oslo'")
            let report = try await Maintenance(pool: database.pool).run()
            #expect(report.cancellationsRemoved == 1)
            #expect(report.liveActivitySessionsRemoved == 1)
            #expect(report.appStoreNotificationsRemoved == 2, "what is not settled stays")
            #expect(report.subscriptionLinksRemoved == 1)
            #expect(report.timeZonesAdded == 1)
            #expect(report.partitionsMade == 1)
            #expect(report.partitionsDropped == [old])
            #expect(report.anonymousDevicesRemoved == 1)
        }
    }

    private static func month(ahead: Int) -> String {
        let now = Int(SystemMonth.current) + ahead
        let month = now % 12 + 1
        return "\(now / 12)_\(month < 10 ? "0" : "")\(month)"
    }
}
