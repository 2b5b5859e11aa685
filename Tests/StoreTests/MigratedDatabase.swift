import PostgresClient
import Store
import TestSupport

/// Runs the body on a fresh database with the newest schema.
func withMigratedDatabase<Value: Sendable>(
    _ body: (TestDatabase) async throws -> Value
) async throws -> Value {
    try await TestDatabase.with { database in
        _ = try await Migrator(pool: database.pool).migrate()
        return try await body(database)
    }
}
