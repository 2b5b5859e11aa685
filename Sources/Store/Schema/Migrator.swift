import Kernel
package import PostgresClient

/// Brings a database to the schema this build needs. Migrations are numbered files, applied in order and never changed.
package struct Migrator: Sendable {
    /// One numbered file.
    package struct Migration: Sendable {
        package let version: Int
        package let name: String
        package let text: String
        /// Tells whether a file was changed after it had been applied.
        package var checksum: String { Checksum.fnv1a64(text) }
    }

    /// Why the schema could not be brought up to date.
    package struct MigrationError: Error, CustomStringConvertible {
        package let description: String
    }

    /// Keeps two migrators from running at once.
    private static let lock: Int64 = 0x5641_5253_454C

    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// The migrations of this build, in order.
    package static let migrations: [Migration] = EmbeddedText.migrations.compactMap { file in
        let parts = file.name.split(separator: "_", maxSplits: 1)
        guard let version = Int(parts[0].dropFirst()) else { return nil }
        return Migration(version: version, name: file.name, text: file.text)
    }

    /// Applies what is missing.
    /// - Parameter timeout: the longest one migration may take, waiting for another migrator included.
    /// - Returns: the names of the migrations that were applied.
    /// - Throws: `MigrationError` when the database is newer than this build or an applied file was changed.
    package func migrate(timeout: Duration = .seconds(600)) async throws -> [String] {
        try await pool.withAdvisoryLock(Self.lock, timeout: timeout) { session in
            try await session.script(
                """
                CREATE TABLE IF NOT EXISTS schema_migrations (
                    version integer PRIMARY KEY,
                    name text NOT NULL,
                    checksum text NOT NULL,
                    applied_at timestamptz NOT NULL DEFAULT now()
                )
                """,
                timeout: timeout
            )
            let applied = try await session.query("SELECT version, checksum FROM schema_migrations ORDER BY version")
            var checksums: [Int: String] = [:]
            for row in applied { checksums[try row.int("version")] = try row.string("checksum") }
            let newest = Self.migrations.last?.version ?? 0
            if let unknown = checksums.keys.max(), unknown > newest {
                throw MigrationError(
                    description:
                        "the database is at version \(unknown), this varselctl knows \(newest): use a newer one"
                )
            }
            var done: [String] = []
            for migration in Self.migrations {
                if let checksum = checksums[migration.version] {
                    guard checksum == migration.checksum else {
                        throw MigrationError(
                            description:
                                "\(migration.name) was changed after it had been applied: restore the file and "
                                + "put the change into a new migration"
                        )
                    }
                    continue
                }
                try await apply(migration, session: session, timeout: timeout)
                done.append(migration.name)
            }
            return done
        }
    }

    private func apply(_ migration: Migration, session: PostgresTransaction, timeout: Duration) async throws {
        // Names come from our own files and hold no quotes.
        try await session.script(
            """
            BEGIN;
            \(migration.text)
            INSERT INTO schema_migrations (version, name, checksum)
            VALUES (\(migration.version), '\(migration.name)', '\(migration.checksum)');
            COMMIT;
            """,
            timeout: timeout
        )
    }
}

/// A short fingerprint for noticing changes; no protection against intent.
enum Checksum {
    /// FNV-1a with 64 bits, in hexadecimal.
    static func fnv1a64(_ text: String) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 {
            hash ^= UInt64(byte)
            hash &*= 0x100_0000_01B3
        }
        return Hex.encode((0..<8).map { UInt8(truncatingIfNeeded: hash >> (56 - 8 * $0)) })
    }
}
