package import PostgresClient

/// The zone names that the database knows: IANA ids and their links, no abbreviations.
package struct TimeZoneStore: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    package func isKnown(_ name: String) async throws(PostgresError) -> Bool {
        try await pool.query(Self.known(name)).first?.bool("known") ?? false
    }

    /// Takes up names that came with a newer tzdata. Names are never removed: users may have them.
    /// - Returns: how many were new.
    package func refresh() async throws(PostgresError) -> Int {
        try await pool.query(Self.refresh).affected
    }

    static func known(_ name: String) -> SQL {
        "SELECT EXISTS (SELECT FROM time_zones WHERE name = \(name)) AS known"
    }

    static let refresh: SQL = """
        INSERT INTO time_zones (name)
        SELECT name FROM pg_timezone_names
        WHERE name NOT LIKE 'posix/%' AND name NOT LIKE 'right/%'
          AND name NOT IN ('localtime', 'posixrules', 'Factory') AND (name LIKE '%/%' OR name IN ('UTC', 'GMT'))
        ON CONFLICT DO NOTHING
        """
}
