import Kernel
package import Observability
import Synchronization

/// A fixed number of connections, each on a thread of its own. Callers queue in order, up to a limit and a deadline.
package final class PostgresPool: Sendable {
    /// The pool's numbers.
    package struct Options: Sendable {
        package var size = 4
        package var connectTimeout = Duration.seconds(5)
        /// The longest a statement may run; the server ends it after that.
        package var statementTimeout = Duration.seconds(10)
        /// The longest a caller waits for a connection.
        package var acquireTimeout = Duration.seconds(2)
        package var maxWaiters = 1024
        /// Off where pgBouncer pools transactions, which knows no prepared statements.
        package var prepare = true
        package var applicationName = "varsel"

        package init() {}
    }

    private let options: Options
    private let queue: SlotQueue<PostgresSlot>
    private let slots: [PostgresSlot]

    package init(url: PostgresURL, options: Options = Options(), telemetry: Telemetry) {
        self.options = options
        let slots = (0..<max(1, options.size)).map { index in
            PostgresSlot(index: index, url: url, options: options, telemetry: telemetry)
        }
        self.slots = slots
        queue = SlotQueue(slots, maxWaiters: options.maxWaiters)
        telemetry.metrics.gauge("postgres_pool_waiters", help: "Callers that wait for a connection") { [queue] in
            Double(queue.waiting)
        }
    }

    /// Runs one statement on any connection.
    package func query(_ sql: SQL) async throws(PostgresError) -> PostgresRows {
        try await withSlot { (slot) async throws(PostgresError) in try await slot.run(sql) }
    }

    /// Runs several statements on one connection, in a transaction that is rolled back when `body` throws.
    package func transaction<Value: Sendable>(
        _ body: (PostgresTransaction) async throws -> Value
    ) async throws -> Value {
        let slot = try await acquire()
        try await pin(slot)
        defer {
            slot.unpin()
            queue.release(slot)
        }
        let transaction = PostgresTransaction(slot: slot)
        _ = try await slot.run("BEGIN")
        do {
            let value = try await body(transaction)
            _ = try await slot.run("COMMIT")
            return value
        } catch {
            await slot.rollBack()
            throw error
        }
    }

    /// Runs a script of several statements under a session lock that keeps other holders of the same number out.
    /// - Parameters:
    ///   - lock: the number for `pg_advisory_lock`.
    ///   - timeout: the longest the whole body may take; the statement timeout does not apply.
    package func withAdvisoryLock<Value: Sendable>(
        _ lock: Int64,
        timeout: Duration,
        _ body: (PostgresTransaction) async throws -> Value
    ) async throws -> Value {
        let slot = try await acquire()
        try await pin(slot)
        // The connection is thrown away afterwards, which also frees the lock whatever happened.
        defer {
            slot.discard()
            slot.unpin()
            queue.release(slot)
        }
        let session = PostgresTransaction(slot: slot)
        try await session.script("SET statement_timeout = \(timeout.milliseconds)", timeout: options.statementTimeout)
        try await session.script("SELECT pg_advisory_lock(\(lock))", timeout: timeout)
        return try await body(session)
    }

    /// Closes every connection; later calls fail with `closed`.
    package func close() async {
        queue.close()
        for slot in slots { slot.stop() }
    }

    private func withSlot<Value: Sendable>(
        _ body: (PostgresSlot) async throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        let slot = try await acquire()
        defer { queue.release(slot) }
        return try await body(slot)
    }

    private func pin(_ slot: PostgresSlot) async throws(PostgresError) {
        do {
            try await slot.pin()
        } catch {
            queue.release(slot)
            throw error
        }
    }

    private func acquire() async throws(PostgresError) -> PostgresSlot {
        switch await queue.acquire(within: options.acquireTimeout) {
        case .slot(let slot): return slot
        case .tooManyWaiters:
            throw PostgresError(.poolExhausted, message: "\(options.maxWaiters) callers wait for a connection already")
        case .timedOut: throw PostgresError(.poolExhausted, message: "no connection became free in time")
        case .closed: throw PostgresError(.closed, message: "the pool is closed")
        }
    }
}

/// A connection that is the caller's alone for a while.
package struct PostgresTransaction: Sendable {
    fileprivate let slot: PostgresSlot

    package func query(_ sql: SQL) async throws(PostgresError) -> PostgresRows {
        try await slot.run(sql)
    }

    /// Runs several statements without values. Each script is a transaction of its own unless one is open.
    package func script(_ text: String, timeout: Duration) async throws(PostgresError) {
        try await slot.runScript(text, timeout: timeout)
    }
}
