import PostgresClient
import TestSupport
import Testing

@testable import Store

struct PersonalTableTests {
    /// Tables that hold nothing of users. Cancellations name users by a hash; an erasure removes its own row.
    private static let impersonal: Set<String> = [
        "campaign_audit", "campaigns", "cancellations", "deployment", "erasures", "schema_migrations", "time_zones",
    ]

    @Test func `every table is known to exports and erasures, or holds nothing of users`() async throws {
        try await withMigratedDatabase { database in
            let rows = try await database.pool.query(
                """
                SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
                """
            )
            let tables = Set(try rows.map { row in try row.string("name") })
            #expect(tables == Self.impersonal.union(PersonalTable.all.map(\.name)))
        }
    }
}
