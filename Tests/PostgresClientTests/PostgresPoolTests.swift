import Kernel
import Observability
import PostgresClient
import TestSupport
import Testing

struct PostgresPoolTests {
    @Test func `values of every type survive the round trip`() async throws {
        try await TestDatabase.with { database in
            let id = try #require(UUIDBits("01a22ee6-b000-7abc-8def-0123456789ab"))
            let moment = Timestamp(milliseconds: 1_796_117_400_250)
            let none: String? = nil
            let rows = try await database.pool.query(
                """
                SELECT \("a'b\"\\æ") AS text, \(42) AS number, \(true) AS flag, \(id) AS id, \(moment) AS moment,
                    \(["k": [1, nil]] as JSONValue) AS json, \(none) AS nothing, \(JSONText("{\"a\":1}")) AS raw
                """
            )
            let row = try #require(rows.first)
            #expect(try row.string("text") == "a'b\"\\æ")
            #expect(try row.int("number") == 42)
            #expect(try row.bool("flag"))
            #expect(try row.uuid("id") == id)
            #expect(try row.timestamp("moment") == moment)
            #expect(try row.json("json") == ["k": [1, nil]])
            #expect(try row.optionalString("nothing") == nil)
            #expect(try row.json("raw")["a"] == 1)
        }
    }

    @Test func `arrays carry quotes, commas, backslashes, braces, NULL and emptiness`() async throws {
        try await TestDatabase.with { database in
            let texts: [String?] = ["a,b", "\"", "\\", "{}", "NULL", nil, "", " x "]
            let rows = try await database.pool.query("SELECT * FROM unnest(\(texts)) AS t(value)")
            let values = try rows.map { row in try row.optionalString("value") }
            #expect(values == texts)
            let empty = try await database.pool.query("SELECT * FROM unnest(\([String]())) AS t(value)")
            #expect(empty.isEmpty)
        }
    }

    @Test func `an error carries the server's code and none of the values`() async throws {
        try await TestDatabase.with { database in
            _ = try await database.pool.query("CREATE TABLE t (name text PRIMARY KEY)")
            _ = try await database.pool.query("INSERT INTO t VALUES (\("secret-value"))")
            let error = await #expect(throws: PostgresError.self) {
                _ = try await database.pool.query("INSERT INTO t VALUES (\("secret-value"))")
            }
            #expect(error?.sqlState == "23505")
            #expect(error?.isDataFault == true)
            #expect(error?.description.contains("secret-value") == false)
            let one = try await database.pool.query("SELECT 1 AS one").first?.int("one")
            #expect(one == 1)
        }
    }

    @Test func `a NUL character is refused, never cut off`() async throws {
        try await TestDatabase.with { database in
            for statement in ["SELECT \("a\0b")", "SELECT \(["ok", "a\0b"])"] as [SQL] {
                let error = await #expect(throws: PostgresError.self) { _ = try await database.pool.query(statement) }
                #expect(error?.sqlState == "22021")
                #expect(error?.isDataFault == true)
            }
        }
    }

    @Test(arguments: ["uuid", "integer"])
    func `what the server says about a value is not repeated`(type: String) async throws {
        try await TestDatabase.with { database in
            let error = await #expect(throws: PostgresError.self) {
                _ = try await database.pool.query("SELECT \("secret-value")::\(unescaped: type)")
            }
            #expect(error?.sqlState == "22P02")
            #expect(error?.isDataFault == true)
            #expect(error?.description.contains("secret-value") == false)
        }
    }

    @Test func `a zero character is refused and never cuts a text short`() async throws {
        try await TestDatabase.with { database in
            let error = await #expect(throws: PostgresError.self) {
                _ = try await database.pool.query("SELECT \("a\0b") AS text")
            }
            #expect(error?.sqlState == "22021")
            #expect(error?.isDataFault == true)
            await #expect(throws: PostgresError.self) {
                _ = try await database.pool.query("SELECT \(["a", "\0"]) AS texts")
            }
        }
    }

    @Test(arguments: [
        "1970-01-01T00:00:00.000Z", "1969-12-31T23:59:59.999Z", "2026-02-28T23:59:59.999Z", "2028-02-29T12:00:00.001Z",
        "0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z",
    ])
    func `moments survive the round trip, alone and in arrays`(text: String) async throws {
        try await TestDatabase.with { database in
            let moment = try #require(Timestamp(rfc3339: text))
            let rows = try await database.pool.query(
                "SELECT \(moment) AS alone, t.value FROM unnest(\([moment, nil] as [Timestamp?])) AS t(value)"
            )
            #expect(try rows[0].timestamp("alone") == moment)
            #expect(try rows[0].timestamp("value") == moment)
            #expect(try rows[1].optionalTimestamp("value") == nil)
            let spelled = try await database.pool.query("SELECT to_json(\(moment)) #>> '{}' AS text").first?.string(
                "text"
            )
            #expect(spelled.flatMap { Timestamp(rfc3339: $0) } == moment)
        }
    }

    @Test func `bytes are bound as bytea`() async throws {
        try await TestDatabase.with { database in
            let text = try await database.pool.query("SELECT encode(\([0, 15, 255] as [UInt8]), 'hex') AS hex")
                .first?.string("hex")
            #expect(text == "000fff")
        }
    }

    @Test func `a connection that the server closed while it was idle is replaced before it is used`() async throws {
        try await TestDatabase.with(size: 1) { database in
            let first = try await database.pool.query("SELECT pg_backend_pid() AS id").first?.int("id")
            var options = PostgresPool.Options()
            options.size = 1
            let other = PostgresPool(url: database.url, options: options, telemetry: .silent())
            // Waits until the process is gone, so that the end has reached our socket.
            _ = try await other.query("SELECT pg_terminate_backend(\(first ?? 0)::int, 10000)")
            let second = try await database.pool.query("SELECT pg_backend_pid() AS id").first?.int("id")
            #expect(second != nil && first != second)
            await other.close()
        }
    }

    @Test func `a transaction rolls back when its body throws`() async throws {
        struct Stop: Error {}
        try await TestDatabase.with { database in
            _ = try await database.pool.query("CREATE TABLE t (n bigint)")
            await #expect(throws: Stop.self) {
                try await database.pool.transaction { transaction in
                    _ = try await transaction.query("INSERT INTO t VALUES (\(1))")
                    throw Stop()
                }
            }
            try await database.pool.transaction { transaction in
                _ = try await transaction.query("INSERT INTO t VALUES (\(2))")
            }
            let rows = try await database.pool.query("SELECT n FROM t")
            let numbers = try rows.map { row in try row.int("n") }
            #expect(numbers == [2])
        }
    }

    @Test(arguments: [true, false])
    func `statements of a batch are one transaction in one round trip`(prepares: Bool) async throws {
        try await TestDatabase.with { database in
            var options = PostgresPool.Options()
            options.size = 1
            options.prepare = prepares
            let pool = PostgresPool(url: database.url, options: options, telemetry: .silent())
            _ = try await pool.query("CREATE TABLE t (n bigint PRIMARY KEY)")
            for round in 0..<3 {
                let results = try await pool.batch([
                    "INSERT INTO t VALUES (\(round))", "SELECT count(*) AS n FROM t", "SELECT \("x") AS text",
                ])
                #expect(results.count == 3)
                #expect(results[0].affected == 1)
                let count = try results[1].first?.int("n")
                let text = try results[2].first?.string("text")
                #expect(count == round + 1)
                #expect(text == "x")
            }
            let error = await #expect(throws: PostgresError.self) {
                _ = try await pool.batch([
                    "INSERT INTO t VALUES (\(10))", "INSERT INTO t VALUES (\(1))", "INSERT INTO t VALUES (\(11))",
                ])
            }
            #expect(error?.sqlState == "23505")
            // The refused batch left nothing behind, and its connection is as good as before.
            let numbers = try await pool.batch(["SELECT n FROM t ORDER BY n"])[0].map { row in try row.int("n") }
            #expect(numbers == [0, 1, 2])
            let nothing = try await pool.batch([])
            #expect(nothing.isEmpty)
            await pool.close()
        }
    }

    @Test func `a batch whose connection is lost fails and leaves nothing`() async throws {
        try await TestDatabase.with(size: 1) { database in
            _ = try await database.pool.query("CREATE TABLE t (n bigint)")
            let error = await #expect(throws: PostgresError.self) {
                _ = try await database.pool.batch([
                    "INSERT INTO t VALUES (\(1))", "SELECT pg_terminate_backend(pg_backend_pid())",
                    "INSERT INTO t VALUES (\(2))",
                ])
            }
            #expect(error != nil)
            let count = try await database.pool.query("SELECT count(*) AS n FROM t").first?.int("n")
            #expect(count == 0)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `many callers share few connections, queries and transactions mixed`() async throws {
        try await TestDatabase.with(size: 2) { database in
            _ = try await database.pool.query("CREATE TABLE t (n bigint)")
            try await withThrowingTaskGroup { group in
                for number in 0..<300 {
                    group.addTask {
                        switch number % 3 {
                        case 0: _ = try await database.pool.query("INSERT INTO t VALUES (\(number))")
                        case 1: _ = try await database.pool.batch(["INSERT INTO t VALUES (\(number))", "SELECT 1"])
                        default:
                            try await database.pool.transaction { transaction in
                                _ = try await transaction.query("INSERT INTO t VALUES (\(number))")
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            let count = try await database.pool.query("SELECT count(DISTINCT n) AS n FROM t").first?.int("n")
            #expect(count == 300)
        }
    }

    @Test func `callers that wait when the pool closes are told so`() async throws {
        try await TestDatabase.with { database in
            var options = PostgresPool.Options()
            options.size = 1
            let pool = PostgresPool(url: database.url, options: options, telemetry: .silent())
            // The transaction cannot end either.
            await #expect(throws: PostgresError.self) {
                try await pool.transaction { _ in
                    async let waiting = pool.query("SELECT 1")
                    while pool.waiters == 0 { await Task.yield() }
                    await pool.close()
                    do {
                        _ = try await waiting
                        Issue.record("a statement ran on a closed pool")
                    } catch let error as PostgresError {
                        #expect(error.code == .closed)
                    }
                }
            }
        }
    }

    @Test func `a connection that was killed is replaced`() async throws {
        try await TestDatabase.with(size: 1) { database in
            await #expect(throws: PostgresError.self) {
                _ = try await database.pool.query("SELECT pg_terminate_backend(pg_backend_pid())")
                _ = try await database.pool.query("SELECT 1")
            }
            let one = try await database.pool.query("SELECT 1 AS one").first?.int("one")
            #expect(one == 1)
        }
    }

    @Test func `a transaction whose connection is lost fails instead of going on elsewhere`() async throws {
        try await TestDatabase.with(size: 1) { database in
            _ = try await database.pool.query("CREATE TABLE t (n bigint)")
            let watcher = PostgresPool(url: database.url, telemetry: .silent())
            let error = await #expect(throws: PostgresError.self) {
                try await database.pool.transaction { transaction in
                    _ = try await transaction.query("INSERT INTO t VALUES (\(1))")
                    let id = try await transaction.query("SELECT pg_backend_pid() AS id").first?.int("id") ?? 0
                    _ = try await watcher.query("SELECT pg_terminate_backend(\(id)::int, 5000)")
                    _ = try await transaction.query("INSERT INTO t VALUES (\(2))")
                }
            }
            #expect(error?.code == .connection)
            await watcher.close()
            let rows = try await database.pool.query("SELECT count(*) AS n FROM t").first?.int("n")
            #expect(rows == 0)
        }
    }

    @Test func `a statement beyond its time is ended and named so`() async throws {
        try await TestDatabase.with { database in
            var options = PostgresPool.Options()
            options.statementTimeout = .milliseconds(50)
            let pool = PostgresPool(url: database.url, options: options, telemetry: .silent())
            let error = await #expect(throws: PostgresError.self) { _ = try await pool.query("SELECT pg_sleep(30)") }
            #expect(error?.code == .timeout)
            await pool.close()
        }
    }

    @Test func `callers beyond the limit are refused, the others served in order`() async throws {
        try await TestDatabase.with { database in
            var options = PostgresPool.Options()
            options.size = 1
            options.maxWaiters = 0
            let pool = PostgresPool(url: database.url, options: options, telemetry: .silent())
            try await pool.transaction { _ in
                let error = await #expect(throws: PostgresError.self) { _ = try await pool.query("SELECT 1") }
                #expect(error?.code == .poolExhausted)
            }
            await pool.close()
            let error = await #expect(throws: PostgresError.self) { _ = try await pool.query("SELECT 1") }
            #expect(error?.code == .closed)
        }
    }

    @Test func `a waiting caller gives up at its deadline`() async throws {
        try await TestDatabase.with { database in
            var options = PostgresPool.Options()
            options.size = 1
            options.acquireTimeout = .milliseconds(20)
            let pool = PostgresPool(url: database.url, options: options, telemetry: .silent())
            try await pool.transaction { _ in
                let error = await #expect(throws: PostgresError.self) { _ = try await pool.query("SELECT 1") }
                #expect(error?.code == .poolExhausted)
            }
            let one = try await pool.query("SELECT 1 AS one").first?.int("one")
            #expect(one == 1)
            await pool.close()
        }
    }

    @Test func `without prepared statements everything works the same`() async throws {
        try await TestDatabase.with { database in
            var options = PostgresPool.Options()
            options.prepare = false
            let pool = PostgresPool(url: database.url, options: options, telemetry: .silent())
            for number in 0..<3 {
                let answer = try await pool.query("SELECT \(number) AS n").first?.int("n")
                #expect(answer == number)
            }
            let prepared = try await pool.query("SELECT count(*) AS n FROM pg_prepared_statements").first?.int("n")
            #expect(prepared == 0)
            await pool.close()
        }
    }

    @Test func `an unreachable server is an error in bounded time, with the pool still usable`() async throws {
        let url = try PostgresURL(parsing: "postgresql://nobody@127.0.0.1:1/none")
        let pool = PostgresPool(url: url, telemetry: .silent())
        for _ in 0..<2 {
            let error = await #expect(throws: PostgresError.self) { _ = try await pool.query("SELECT 1") }
            #expect(error?.code == .connection)
        }
        await pool.close()
    }

    @Test(arguments: ["", "mysql://x", "postgresql://host:notaport/db", "http://x"])
    func `a bad URL is refused without echoing it`(text: String) {
        let error = #expect(throws: PostgresError.self) { _ = try PostgresURL(parsing: text) }
        #expect(error?.code == .configuration)
    }

    @Test(arguments: [
        ("postgresql://user:hunter2@host:5432/db", "postgresql://user@host:5432/db"),
        ("postgresql://u:hun?ter2@host/db", "postgresql://u@host/db"),
        ("postgresql://u@host/db?password=hunter2", "postgresql://u@host/db"),
        ("postgresql:///db?host=/run/postgresql", "postgresql:///db"),
    ])
    func `a URL prints without its password`(text: String, shown: String) throws {
        #expect(try PostgresURL(parsing: text).description == shown)
    }
}
