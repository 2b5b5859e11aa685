package import PostgresClient

/// Compares the database's schema with the one this build was made for. Services never migrate.
package enum SchemaVersion {
    /// The database has another schema than this build needs.
    package struct Mismatch: Error, Equatable, CustomStringConvertible {
        package let found: Int
        package let needed: Int

        package var description: String {
            found < needed
                ? "the database has schema version \(found), this build needs \(needed): run varselctl migrate"
                : "the database has schema version \(found), this build knows \(needed): install the newer build"
        }
    }

    /// - Throws: `Mismatch`, or `PostgresError` when the database cannot be asked.
    package static func check(_ pool: PostgresPool) async throws {
        let needed = Migrator.migrations.last?.version ?? 0
        let table = try await pool.query("SELECT to_regclass('schema_migrations') IS NOT NULL AS present")
        guard try table.first?.bool("present") == true else { throw Mismatch(found: 0, needed: needed) }
        let rows = try await pool.query("SELECT coalesce(max(version), 0) AS version FROM schema_migrations")
        let found = try rows.first?.int("version") ?? 0
        guard found == needed else { throw Mismatch(found: found, needed: needed) }
    }
}
