import Glibc
import Kernel
package import Observability
package import PostgresClient

/// A fresh PostgreSQL database for one test, on the server that `scripts/test` started; dropped at the end.
package struct TestDatabase: Sendable {
    /// Why no database could be had.
    package struct Unavailable: Error, CustomStringConvertible {
        package let description: String
    }

    package let url: PostgresURL
    /// The URL as text, for processes that a test starts.
    package let urlText: String
    package let pool: PostgresPool

    /// Makes a database, runs the body, and drops the database whatever happened.
    package static func with<Value: Sendable>(
        size: Int = 4,
        telemetry: Telemetry = .silent(),
        _ body: (TestDatabase) async throws -> Value
    ) async throws -> Value {
        guard let base = getenv("VARSEL_TEST_DATABASE_URL").map({ String(cString: $0) }) else {
            throw Unavailable(description: "VARSEL_TEST_DATABASE_URL is not set: run the tests with ./scripts/test")
        }
        var adminOptions = PostgresPool.Options()
        adminOptions.size = 1
        adminOptions.statementTimeout = .seconds(60)
        let admin = PostgresPool(url: try PostgresURL(parsing: base), options: adminOptions, telemetry: telemetry)
        let name = "test_\(getpid())_\(UInt64.random(in: 0...UInt64.max))"
        _ = try await admin.query("CREATE DATABASE \(unescaped: name)")
        guard let slash = base.lastIndex(of: "/") else {
            throw Unavailable(description: "VARSEL_TEST_DATABASE_URL names no database")
        }
        let text = base[...slash] + name
        let url = try PostgresURL(parsing: String(text))
        var options = PostgresPool.Options()
        options.size = size
        // A busy machine must not fail a test that only waits its turn.
        options.acquireTimeout = .seconds(60)
        let database = TestDatabase(
            url: url,
            urlText: String(text),
            pool: PostgresPool(url: url, options: options, telemetry: telemetry)
        )
        let outcome: Result<Value, any Error>
        do {
            outcome = .success(try await body(database))
        } catch {
            outcome = .failure(error)
        }
        await database.pool.close()
        _ = try await admin.query("DROP DATABASE \(unescaped: name) WITH (FORCE)")
        await admin.close()
        return try outcome.get()
    }
}
