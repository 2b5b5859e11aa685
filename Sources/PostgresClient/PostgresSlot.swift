import Kernel
import Observability
import Synchronization

/// A place in the pool: a thread, and the connection on it, made when first needed and again after it was lost.
final class PostgresSlot: Sendable {
    private let url: PostgresURL
    private let options: PostgresPool.Options
    private let thread: SerialThread
    private let holder = ConnectionHolder()
    private let logger: Logger
    private let connects: Counter
    private let failures: Counter
    private static let backoff = Backoff(base: .milliseconds(50), limit: .seconds(2))

    init(index: Int, url: PostgresURL, options: PostgresPool.Options, telemetry: Telemetry) {
        self.url = url
        self.options = options
        logger = telemetry.logger
        thread = SerialThread(name: "postgres-\(index)", capacity: 64)
        connects = telemetry.metrics.counter("postgres_connects_total", help: "Connections made to PostgreSQL")
        failures = telemetry.metrics.counter("postgres_failures_total", help: "PostgreSQL calls that failed")
    }

    func run(_ sql: SQL) async throws(PostgresError) -> PostgresRows {
        try await onThread { (connection) throws(PostgresError) in try connection.run(sql) }
    }

    func runScript(_ text: String, timeout: Duration) async throws(PostgresError) {
        try await onThread { (connection) throws(PostgresError) in
            try connection.runScript(text, timeout: timeout)
        }
    }

    /// Ties the slot to its present connection, opening one if need be: until `unpin`, a lost connection is an error and is not
    /// replaced, so that a transaction or a session lock cannot go on elsewhere without anybody noticing.
    func pin() async throws(PostgresError) {
        try await onThread { [holder] (_) throws(PostgresError) in holder.isPinned = true }
    }

    func unpin() {
        thread.post { [holder] in holder.isPinned = false }
    }

    /// Ends an open transaction; a connection that cannot is thrown away.
    func rollBack() async {
        do {
            _ = try await run("ROLLBACK")
        } catch {
            discard()
        }
    }

    /// Throws the connection away.
    func discard() {
        thread.post { [holder] in holder.connection = nil }
    }

    func stop() {
        discard()
        thread.stop()
    }

    /// Runs `body` on the slot's thread.
    /// - Returns: whether it will run.
    func post(_ body: @escaping @Sendable () -> Void) -> Bool {
        thread.post(body) == nil
    }

    /// Gives the slot's connection to `body`. Only on the slot's thread.
    func attempt<Value>(
        _ body: (PostgresConnection) throws(PostgresError) -> Value
    ) -> Result<Value, PostgresError> {
        do throws(PostgresError) {
            let connection = try open()
            defer { if !connection.isUsable { holder.connection = nil } }
            return .success(try body(connection))
        } catch {
            failures.increment()
            return .failure(error)
        }
    }

    private func onThread<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        let result = await withCheckedContinuation { (done: CheckedContinuation<Result<Value, PostgresError>, Never>) in
            if !post({ done.resume(returning: self.attempt(body)) }) {
                failures.increment()
                done.resume(returning: .failure(PostgresError(.closed, message: "the connection's thread has ended")))
            }
        }
        return try result.get()
    }

    private func open() throws(PostgresError) -> PostgresConnection {
        if let connection = holder.connection {
            if connection.isAlive() { return connection }
            holder.connection = nil
        }
        if holder.isPinned {
            throw PostgresError(.connection, message: "the connection was lost in the middle of its work")
        }
        if let until = holder.retryAt, ContinuousClock.now < until {
            throw PostgresError(.connection, message: holder.lastFailure)
        }
        do {
            let connection = try PostgresConnection(url: url, options: options)
            connects.increment()
            holder.connection = connection
            holder.attempts = 0
            holder.retryAt = nil
            return connection
        } catch {
            var generator = SystemRandomNumberGenerator()
            holder.retryAt = .now + Self.backoff.delay(attempt: holder.attempts, using: &generator)
            holder.attempts += 1
            holder.lastFailure = error.message
            logger.warning("connecting to PostgreSQL failed", ["error": .error(error)])
            throw error
        }
    }
}

/// What only the slot's thread touches.
private final class ConnectionHolder: @unchecked Sendable {
    // Unchecked, because every access is a job of the slot's one thread.
    var connection: PostgresConnection?
    var isPinned = false
    var attempts = 0
    var retryAt: ContinuousClock.Instant?
    var lastFailure = ""
}
