package import PostgresClient

/// The daily work on tables: partitions are made ahead and dropped by age, and short-lived rows leave.
package struct Maintenance: Sendable {
    /// What one run did.
    package struct Report: Sendable, Equatable {
        package var partitionsMade = 0
        package var partitionsDropped: [String] = []
        package var anonymousDevicesRemoved = 0
        package var idempotencyKeysRemoved = 0
        package var cancellationsRemoved = 0
        package var schedulesRemoved = 0
        package var liveActivitySessionsRemoved = 0
        package var reminderWeeksRemoved = 0
        package var appStoreNotificationsRemoved = 0
        package var subscriptionLinksRemoved = 0
        package var zonesMended = 0
        package var timeZonesAdded = 0
    }

    /// How long rows are kept, in whole months beside the running one.
    package struct Retention: Sendable {
        package var messageMonths: Int
        package var eventMonths: Int
        /// What the App Store and users with a transaction handed in, counted from the day it came.
        package var appStoreMonths: Int

        package init(messageMonths: Int = 13, eventMonths: Int = 6, appStoreMonths: Int = 13) {
            self.messageMonths = messageMonths
            self.eventMonths = eventMonths
            self.appStoreMonths = appStoreMonths
        }
    }

    /// How many months of partitions lie ready.
    private static let monthsAhead = 4

    private let pool: PostgresPool
    private let retention: Retention

    package init(pool: PostgresPool, retention: Retention = Retention()) {
        self.pool = pool
        self.retention = retention
    }

    package func run() async throws -> Report {
        var report = Report()
        let made = try await pool.query(
            "SELECT varsel_ensure_partitions(\(unescaped: String(Self.monthsAhead))) AS made"
        )
        report.partitionsMade = try made.first?.int("made") ?? 0
        report.partitionsDropped += try await drop("notification_messages", keeping: retention.messageMonths)
        report.partitionsDropped += try await drop("notification_events", keeping: retention.eventMonths)
        report.anonymousDevicesRemoved = try await pool.query(
            "DELETE FROM devices WHERE user_id IS NULL AND registered_at < now() - interval '30 days'"
        ).affected
        report.idempotencyKeysRemoved = try await pool.query(
            "DELETE FROM idempotency_keys WHERE created_at < now() - interval '24 hours'"
        ).affected
        // No job is older than its horizon of 90 days; an erasure is remembered a little longer than a year.
        report.cancellationsRemoved = try await pool.query(
            "DELETE FROM cancellations WHERE before < now() - interval '400 days'"
        ).affected
        // What was due a week ago can neither be moved nor called back.
        report.schedulesRemoved = try await pool.query(
            "DELETE FROM scheduled_notifications WHERE due_at < now() - interval '7 days'"
        ).affected
        // An activity runs for eight hours at most and lies on the lock screen for four more.
        report.liveActivitySessionsRemoved = try await pool.query(
            "DELETE FROM live_activity_sessions WHERE registered_at < now() - interval '2 days'"
        ).affected
        report.reminderWeeksRemoved = try await pool.query(ReminderSQL.removeOld).affected
        // Apple repeats a notification for days; what is not settled yet is kept whatever its age.
        report.appStoreNotificationsRemoved = try await pool.query(
            """
            DELETE FROM app_store_notifications
            WHERE state <> 'received' AND received_at < now() - make_interval(months => \(retention.appStoreMonths)::int)
            """
        ).affected
        report.subscriptionLinksRemoved = try await pool.query(
            """
            DELETE FROM subscription_links
            WHERE state <> 'received' AND received_at < now() - make_interval(months => \(retention.appStoreMonths)::int)
            """
        ).affected
        report.zonesMended = try await pool.query(ActivityStore.mendZones).affected
        report.timeZonesAdded = try await TimeZoneStore(pool: pool).refresh()
        return report
    }

    /// Drops partitions named `<table>_YYYY_MM` whose month lies further back than the months kept.
    private func drop(_ table: String, keeping months: Int) async throws -> [String] {
        let rows = try await pool.query(
            """
            SELECT child.relname AS name
            FROM pg_inherits JOIN pg_class child ON child.oid = inhrelid JOIN pg_class parent ON parent.oid = inhparent
            WHERE parent.relname = \(table) AND child.relname ~ '_[0-9]{4}_[0-9]{2}$'
              AND right(child.relname, 7)
                < to_char((now() AT TIME ZONE 'UTC') - make_interval(months => \(months)::int), 'YYYY_MM')
            ORDER BY 1
            """
        )
        let names = try rows.map { row in try row.string("name") }
        for name in names { _ = try await pool.query("DROP TABLE \(unescaped: name)") }
        return names
    }
}
