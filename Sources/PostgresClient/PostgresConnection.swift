import CLibpq
import Glibc
import Kernel

/// One connection, used by one thread only. After an error that leaves its state in doubt it is closed and never used again.
final class PostgresConnection {
    private let handle: OpaquePointer
    private let prepares: Bool
    private let timeout: Duration
    private var prepared: [String: String] = [:]
    private(set) var isUsable = true

    /// More texts than this on one connection are a mistake, so the cache starts anew.
    private static let preparedLimit = 512

    /// Connects.
    /// - Throws: `PostgresError` with code `connection` or `timeout`.
    init(url: PostgresURL, options: PostgresPool.Options) throws(PostgresError) {
        prepares = options.prepare
        timeout = options.statementTimeout
        guard let handle = PQconnectStart(url.connectionString) else {
            throw PostgresError(.connection, message: "out of memory")
        }
        self.handle = handle
        PQsetNoticeReceiver(handle, ignoreNotice, nil)
        do throws(PostgresError) {
            try finishConnecting(within: options.connectTimeout)
            guard PQsetClientEncoding(handle, "UTF8") == 0 else { throw failure(.connection) }
            let milliseconds = options.statementTimeout.milliseconds
            _ = try run(
                SQL(
                    stringLiteral:
                        "SELECT set_config('statement_timeout', '\(milliseconds)', false), "
                        + "set_config('TimeZone', 'UTC', false), set_config('DateStyle', 'ISO, YMD', false), "
                        // Compiling a plan costs more than any statement here takes.
                        + "set_config('jit', 'off', false)"
                )
            )
            _ = try run("SELECT set_config('application_name', \(options.applicationName), false)")
        } catch {
            isUsable = false
            throw error
        }
    }

    deinit {
        PQfinish(handle)
    }

    private func finishConnecting(within limit: Duration) throws(PostgresError) {
        let deadline = ContinuousClock.now + limit
        var wanted = PGRES_POLLING_WRITING
        while true {
            switch wanted {
            case PGRES_POLLING_OK:
                guard PQsetnonblocking(handle, 1) == 0 else { throw failure(.connection) }
                return
            case PGRES_POLLING_READING: try wait(for: Int16(POLLIN), until: deadline)
            case PGRES_POLLING_WRITING: try wait(for: Int16(POLLOUT), until: deadline)
            default: throw failure(.connection)
            }
            wanted = PQconnectPoll(handle)
        }
    }

    /// Whether the connection can be used again: an idle one has nothing to read, unless the server ended it. What the server
    /// says before it closes comes first, so one look is not enough.
    func isAlive() -> Bool {
        guard isUsable else { return false }
        for _ in 0..<3 {
            guard PQstatus(handle) == CONNECTION_OK else { return false }
            var descriptor = pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
            guard poll(&descriptor, 1, 0) > 0 else { return true }
            guard PQconsumeInput(handle) == 1 else { return false }
        }
        return PQstatus(handle) == CONNECTION_OK
    }

    /// Runs one statement and returns its rows.
    func run(_ sql: SQL) throws(PostgresError) -> PostgresRows {
        guard !sql.values.holdsNUL else {
            throw PostgresError(.server, sqlState: "22021", message: "a text holds a zero character")
        }
        if prepares, !sql.values.isEmpty {
            let name = try prepare(sql.text)
            return try exchange(sql.values) { count, values in
                PQsendQueryPrepared(handle, name, count, values, nil, nil, 0)
            }
        }
        return try exchange(sql.values) { count, values in
            PQsendQueryParams(handle, sql.text, count, nil, values, nil, nil, 0)
        }
    }

    /// Runs several statements in one round trip, as one implicit transaction: when one fails, none has happened.
    func run(batch statements: [SQL]) throws(PostgresError) -> [PostgresRows] {
        guard !statements.contains(where: \.values.holdsNUL) else {
            throw PostgresError(.server, sqlState: "22021", message: "a text holds a zero character")
        }
        var names: [String?] = []
        for statement in statements {
            names.append(prepares && !statement.values.isEmpty ? try prepare(statement.text) : nil)
        }
        guard PQenterPipelineMode(handle) == 1 else { throw lost() }
        for (statement, name) in zip(statements, names) {
            let sent = withPointers(to: statement.values) { count, values in
                if let name {
                    PQsendQueryPrepared(handle, name, count, values, nil, nil, 0)
                } else {
                    PQsendQueryParams(handle, statement.text, count, nil, values, nil, nil, 0)
                }
            }
            guard sent == 1 else { throw lost() }
        }
        guard PQpipelineSync(handle) == 1 else { throw lost() }
        let rows = try pipelineResults(until: ContinuousClock.now + timeout + .seconds(1))
        guard PQexitPipelineMode(handle) == 1 else { throw lost() }
        let outcome = try rows.get()
        guard outcome.count == statements.count else { throw lost("the server answered another number of statements") }
        return outcome
    }

    /// Reads to the end of the pipeline, so that the connection can be used again after a refusal.
    private func pipelineResults(
        until deadline: ContinuousClock.Instant
    ) throws(PostgresError) -> Result<[PostgresRows], PostgresError> {
        try flush(until: deadline)
        var rows: [PostgresRows] = []
        var refusal: PostgresError?
        while true {
            try waitForResult(until: deadline)
            guard let result = PQgetResult(handle) else {
                // Between two statements; without a connection there would be no end.
                guard PQstatus(handle) == CONNECTION_OK else { throw refusal.map { lost($0.message) } ?? lost() }
                continue
            }
            switch PQresultStatus(result) {
            case PGRES_PIPELINE_SYNC:
                PQclear(result)
                return refusal.map { .failure($0) } ?? .success(rows)
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: rows.append(PostgresRows(owning: result))
            case PGRES_PIPELINE_ABORTED: PQclear(result)
            default:
                refusal = refusal ?? Self.refusal(of: result)
                PQclear(result)
            }
        }
    }

    /// Runs several statements without values, as one implicit transaction.
    func runScript(_ text: String, timeout: Duration) throws(PostgresError) {
        guard PQsendQuery(handle, text) == 1 else { throw lost() }
        _ = try results(until: ContinuousClock.now + timeout)
    }

    private func prepare(_ text: String) throws(PostgresError) -> String {
        if let name = prepared[text] { return name }
        if prepared.count >= Self.preparedLimit {
            _ = try exchange(PostgresValueWriter()) { count, values in
                PQsendQueryParams(handle, "DEALLOCATE ALL", count, nil, values, nil, nil, 0)
            }
            prepared = [:]
        }
        let name = "s\(prepared.count)"
        guard PQsendPrepare(handle, name, text, 0, nil) == 1 else { throw lost() }
        _ = try results(until: ContinuousClock.now + timeout)
        prepared[text] = name
        return name
    }

    private func exchange(
        _ values: PostgresValueWriter,
        _ send: (Int32, UnsafePointer<UnsafePointer<CChar>?>?) -> Int32
    ) throws(PostgresError) -> PostgresRows {
        guard withPointers(to: values, send) == 1 else { throw lost() }
        // The server's own limit comes first; ours is for a server that does not answer at all.
        return try results(until: ContinuousClock.now + timeout + .seconds(1))
    }

    private func withPointers(
        to values: PostgresValueWriter,
        _ body: (Int32, UnsafePointer<UnsafePointer<CChar>?>?) -> Int32
    ) -> Int32 {
        values.bytes.withUnsafeBytes { buffer in
            let base = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            let pointers = values.offsets.map { offset in offset.flatMap { base?.advanced(by: $0) } }
            return body(Int32(pointers.count), pointers)
        }
    }

    private func flush(until deadline: ContinuousClock.Instant) throws(PostgresError) {
        while true {
            let flushed = PQflush(handle)
            if flushed == 0 { return }
            guard flushed == 1 else { throw lost() }
            try wait(for: Int16(POLLIN | POLLOUT), until: deadline)
            guard PQconsumeInput(handle) == 1 else { throw lost() }
        }
    }

    private func waitForResult(until deadline: ContinuousClock.Instant) throws(PostgresError) {
        while PQisBusy(handle) == 1 {
            try wait(for: Int16(POLLIN), until: deadline)
            guard PQconsumeInput(handle) == 1 else { throw lost() }
        }
    }

    private func results(until deadline: ContinuousClock.Instant) throws(PostgresError) -> PostgresRows {
        try flush(until: deadline)
        var last: PostgresRows?
        var refusal: PostgresError?
        while true {
            try waitForResult(until: deadline)
            guard let result = PQgetResult(handle) else { break }
            let status = PQresultStatus(result)
            if status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_EMPTY_QUERY {
                last = PostgresRows(owning: result)
            } else {
                refusal = refusal ?? Self.refusal(of: result)
                PQclear(result)
            }
        }
        if PQstatus(handle) != CONNECTION_OK { throw refusal.map { lost($0.message) } ?? lost() }
        if let refusal { throw refusal }
        guard let last else { throw lost() }
        return last
    }

    private func wait(for events: Int16, until deadline: ContinuousClock.Instant) throws(PostgresError) {
        while true {
            let rest = ContinuousClock.now.duration(to: deadline).milliseconds
            guard rest > 0 else {
                isUsable = false
                throw PostgresError(.timeout, message: "no answer in time")
            }
            var descriptor = pollfd(fd: PQsocket(handle), events: events, revents: 0)
            let ready = poll(&descriptor, 1, Int32(clamping: rest))
            if ready > 0 { return }
            if ready < 0, errno != EINTR { throw lost() }
        }
    }

    private static func refusal(of result: OpaquePointer) -> PostgresError {
        func field(_ code: Int32) -> String? { PQresultErrorField(result, code).map { String(cString: $0) } }
        let state = field(Int32(UInt8(ascii: "C")))
        // The primary message only: the detail line may quote values, and in class 22 (data exceptions) even that one does.
        let isAboutData = state?.hasPrefix("22") == true
        let message = isAboutData ? "a value was refused" : field(Int32(UInt8(ascii: "M"))) ?? "no message"
        if state == "57014" { return PostgresError(.timeout, sqlState: state, message: message) }
        let constraint = field(Int32(UInt8(ascii: "n")))
        return PostgresError(
            state == nil ? .connection : .server,
            sqlState: state,
            message: message,
            constraint: constraint
        )
    }

    private func lost(_ message: String? = nil) -> PostgresError {
        isUsable = false
        if let message { return PostgresError(.connection, message: message) }
        return failure(.connection)
    }

    private func failure(_ code: PostgresError.Code) -> PostgresError {
        isUsable = false
        let text = PQerrorMessage(handle).map { String(cString: $0) } ?? ""
        let line = text.split(separator: "\n").first.map(String.init) ?? "the connection is gone"
        return PostgresError(code, message: line)
    }
}

/// Notices go nowhere: libpq would print them.
private func ignoreNotice(_ argument: UnsafeMutableRawPointer?, _ result: OpaquePointer?) {}
