package import Kernel
package import Notifications
package import PostgresClient

/// When users were last active (G9). A moment only ever moves forward, so reports may come late, twice or in any order.
package struct ActivityStore: Sendable {
    /// One report.
    package struct Report: Sendable, Equatable {
        package let userID: UserID
        package let at: Timestamp

        package init(userID: UserID, at: Timestamp) {
            self.userID = userID
            self.at = at
        }
    }

    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Records reports in one statement.
    package func record(_ reports: [Report]) async throws(PostgresError) {
        guard !reports.isEmpty else { return }
        _ = try await pool.queryRetryingTransient(Self.record(Self.newest(reports)))
    }

    /// The user's last activity, `nil` when there is none on record.
    package func lastActivity(of user: UserID) async throws(PostgresError) -> Timestamp? {
        try await pool.query(Self.read(user)).first?.timestamp("last_activity_at")
    }

    /// One report a user, the newest, in the order of user ids, so that two batches cannot lock each other out.
    static func newest(_ reports: [Report]) -> [Report] {
        Dictionary(reports.map { ($0.userID, $0.at) }, uniquingKeysWith: max)
            .map { Report(userID: $0.key, at: $0.value) }
            .sorted { $0.userID < $1.userID }
    }

    /// Expects each user once. A row that knows as much already is not written again.
    static func record(_ reports: [Report]) -> SQL {
        """
        INSERT INTO user_activity AS a (user_id, last_activity_at, timezone)
        SELECT r.user_id, r.at, p.timezone
        FROM unnest(\(reports.map(\.userID.rawValue)), \(reports.map(\.at))) AS r(user_id, at)
        LEFT JOIN user_notification_preferences p ON p.user_id = r.user_id
        ORDER BY r.user_id
        ON CONFLICT (user_id) DO UPDATE SET last_activity_at = EXCLUDED.last_activity_at, timezone = EXCLUDED.timezone
        WHERE a.last_activity_at < EXCLUDED.last_activity_at
        """
    }

    static func read(_ user: UserID) -> SQL {
        "SELECT last_activity_at FROM user_activity WHERE user_id = \(user.rawValue)"
    }

    /// Copies zones that a report and a change of zone, at the same moment, left different.
    static let mendZones: SQL = """
        UPDATE user_activity a SET timezone = p.timezone FROM user_notification_preferences p
        WHERE p.user_id = a.user_id AND a.timezone IS DISTINCT FROM p.timezone
        """
}
