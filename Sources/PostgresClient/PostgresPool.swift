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
        queue = SlotQueue(slots, maxWaiters: options.maxWaiters, patience: options.acquireTimeout)
        telemetry.metrics.gauge("postgres_pool_waiters", help: "Callers that wait for a connection") { [queue] in
            Double(queue.waiting)
        }
    }

    /// Callers that wait for a connection now.
    package var waiters: Int { queue.waiting }

    /// Runs one statement on any connection.
    package func query(_ sql: SQL) async throws(PostgresError) -> PostgresRows {
        try await onConnection { (connection) throws(PostgresError) in try connection.run(sql) }
    }

    /// Runs several statements on any connection in one round trip: one transaction, undone as a whole when one of them fails. Each
    /// sees what others had committed before it began.
    /// - Returns: the result of each statement.
    /// - Throws: the first failure.
    package func batch(_ statements: [SQL]) async throws(PostgresError) -> [PostgresRows] {
        try await onConnection { (connection) throws(PostgresError) in try connection.run(batch: statements) }
    }

    /// Runs several statements on one connection, in a transaction that is rolled back when `body` throws.
    package func transaction<Value: Sendable>(
        _ body: (PostgresTransaction) async throws -> Value
    ) async throws -> Value {
        let slot = try await acquire()
        try await pin(slot)
        defer {
            slot.unpin()
            release(slot)
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
            release(slot)
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

    /// Does something on the thread of a connection that is free, or of the first that becomes free.
    private func onConnection<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        let options = options
        let result = await withCheckedContinuation { (done: CheckedContinuation<Result<Value, PostgresError>, Never>) in
            let work: Work = { answer in
                switch answer {
                case .success(let slot): done.resume(returning: slot.attempt(body))
                case .failure(let refusal): done.resume(returning: .failure(Self.error(refusal, options)))
                }
            }
            if let slot = queue.submit(work) { start(work, on: slot) }
        }
        return try result.get()
    }

    private typealias Work = SlotQueue<PostgresSlot>.Work

    /// Does the work on the slot's thread, and then whatever else waits for a slot.
    private func start(_ work: @escaping Work, on slot: PostgresSlot) {
        let isTaken = slot.post { [queue] in
            var next: Work? = work
            while let work = next {
                work(.success(slot))
                next = queue.giveBack(slot)
            }
        }
        if !isTaken { work(.failure(.closed)) }
    }

    private func release(_ slot: PostgresSlot) {
        if let work = queue.giveBack(slot) { start(work, on: slot) }
    }

    private func pin(_ slot: PostgresSlot) async throws(PostgresError) {
        do {
            try await slot.pin()
        } catch {
            release(slot)
            throw error
        }
    }

    private func acquire() async throws(PostgresError) -> PostgresSlot {
        do throws(SlotQueue<PostgresSlot>.Refusal) {
            return try await queue.acquire()
        } catch {
            throw Self.error(error, options)
        }
    }

    private static func error(_ refusal: SlotQueue<PostgresSlot>.Refusal, _ options: Options) -> PostgresError {
        switch refusal {
        case .tooManyWaiters:
            PostgresError(.poolExhausted, message: "\(options.maxWaiters) callers wait for a connection already")
        case .timedOut: PostgresError(.poolExhausted, message: "no connection became free in time")
        case .closed: PostgresError(.closed, message: "the pool is closed")
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
