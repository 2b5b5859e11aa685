import CMicrohttpd
import Glibc
import Kernel
package import Observability
import Synchronization

/// An HTTP/1.1 server on libmicrohttpd.
///
/// Threads of the library read and write sockets; once a request is complete its connection is suspended, a task runs the
/// handler, and the connection is resumed with the answer. TLS and HTTP/2 are the business of a proxy in front.
package final class HTTPServer: Sendable {
    /// The port that was really bound.
    package let port: Int

    let desk: RequestDesk
    let options: HTTPServerOptions
    let budget: BodyBudget
    let clock = ContinuousClock()
    private let logger: Logger
    private let closedEarly: @Sendable (String) -> Counter
    private let connections = Mutex<[ObjectIdentifier: HTTPConnection]>([:])
    /// Handlers that run, given-up ones included.
    private let running = Atomic<Int>(0)
    /// Connections the library holds suspended.
    private let suspended = Atomic<Int>(0)
    private let stopping = Atomic<Bool>(false)
    private let refusing = Atomic<Bool>(false)
    private let daemon = Mutex<Daemon?>(nil)
    private let sweeper = Mutex<Task<Void, Never>?>(nil)

    /// The library's daemon with the reference to the server that its callbacks use.
    private struct Daemon: @unchecked Sendable {
        // Unchecked: the pointer is only ever handed to thread-safe functions of the library.
        let pointer: OpaquePointer
        let context: Unmanaged<HTTPServer>
    }

    /// While the server stops, a connection that rests is kept so long: a proxy may be sending on it at this very moment, and its next
    /// answer tells it to close.
    private static let farewell = Duration.seconds(1)

    private init(desk: RequestDesk, options: HTTPServerOptions, telemetry: Telemetry, port: Int) {
        self.desk = desk
        self.options = options
        self.port = port
        budget = BodyBudget(limit: options.bodyBudget)
        logger = telemetry.logger
        let metrics = telemetry.metrics
        metrics.gauge("http_server_body_bytes", help: "Bytes of request bodies held now.") { [budget] in
            Double(budget.inUse)
        }
        closedEarly = { reason in
            metrics.counter(
                "http_server_connections_closed_total",
                help: "Connections the server broke off, by reason.",
                labels: [("reason", reason)]
            )
        }
    }

    /// Starts listening.
    /// - Throws: `HTTPServerError` for an address that cannot be read, resolved or bound.
    package static func start(
        options: HTTPServerOptions,
        desk deskOptions: RequestDeskOptions,
        router: Router,
        telemetry: Telemetry
    ) throws(HTTPServerError) -> HTTPServer {
        let socket = try ListenSocket.bind(options.listen)
        let server = HTTPServer(
            desk: RequestDesk(router: router, options: deskOptions, telemetry: telemetry),
            options: options,
            telemetry: telemetry,
            port: socket.port
        )
        let context = Unmanaged.passRetained(server)
        let pointer = shim_mhd_start(
            socket.descriptor,
            UInt32(options.threads),
            UInt32(options.connections),
            UInt32(max(1, options.idleTimeout.components.seconds)),
            // The library keeps the head, parsed values and the answer's head in one pool a connection, and clears it after
            // every request. Room beyond the limit lets an oversized head arrive, so that it gets a readable refusal.
            options.headerBytes * 3 / 2 + 4 * 1024,
            onRequest,
            onCompleted,
            onConnectionChange,
            onRequestLine,
            context.toOpaque()
        )
        guard let pointer else {
            context.release()
            close(socket.descriptor)
            throw HTTPServerError(code: .start, message: "libmicrohttpd did not start on \(options.listen)")
        }
        server.daemon.withLock { $0 = Daemon(pointer: pointer, context: context) }
        server.sweeper.withLock { $0 = Task { [weak server] in await Self.sweepRegularly(server) } }
        return server
    }

    /// Stops: accepts nothing more, lets running requests end, then closes. Returns when the port is free and every
    /// connection closed. A second call returns at once.
    /// - Parameter deadline: how long running requests may still take; then they are answered 503.
    package func stop(deadline: Duration) async {
        guard let daemon = daemon.withLock({ $0.take() }) else { return }
        stopping.store(true, ordering: .sequentiallyConsistent)
        let listening = MHD_quiesce_daemon(daemon.pointer)
        if listening >= 0 { close(listening) }
        await wait(until: clock.now + deadline) { connections.withLock(\.isEmpty) }
        refusing.store(true, ordering: .sequentiallyConsistent)
        // No connection may be suspended when the daemon stops. Every pass answers what runs; new requests are refused.
        await wait(until: clock.now + .seconds(5)) {
            for connection in snapshot() { finish(connection, request: nil, with: .problem(.stopping), cancel: true) }
            return suspended.load(ordering: .sequentiallyConsistent) == 0
        }
        await wait(until: clock.now + .milliseconds(500)) { connections.withLock(\.isEmpty) }
        sweeper.withLock { $0.take() }?.cancel()
        let thread = SerialThread(name: "http-stop")
        await withCheckedContinuation { continuation in
            thread.post {
                MHD_stop_daemon(daemon.pointer)
                daemon.context.release()
                continuation.resume()
            }
        }
        thread.stop()
    }

    private func wait(until end: ContinuousClock.Instant, _ condition: () -> Bool) async {
        while true {
            sweep(now: clock.now)
            if condition() || clock.now >= end { return }
            do { try await Task.sleep(for: .milliseconds(5)) } catch { return }
        }
    }

    private func snapshot() -> [HTTPConnection] { connections.withLock { Array($0.values) } }

    var isStopping: Bool { stopping.load(ordering: .relaxed) }

    func opened(_ connection: HTTPConnection) {
        connections.withLock { $0[ObjectIdentifier(connection)] = connection }
    }

    func closed(_ connection: HTTPConnection) {
        budget.giveBack(connection.markClosed())
        connections.withLock { $0[ObjectIdentifier(connection)] = nil }
    }

    /// Suspends the connection and runs the handler of its complete request.
    /// - Returns: an answer to give at once when the request is not run.
    func run(_ connection: HTTPConnection, head: RequestHead, admission: Admission, body: [UInt8]) -> Problem? {
        suspended.wrappingAdd(1, ordering: .sequentiallyConsistent)
        if refusing.load(ordering: .sequentiallyConsistent) {
            suspended.wrappingSubtract(1, ordering: .sequentiallyConsistent)
            return .stopping
        }
        guard running.wrappingAdd(1, ordering: .relaxed).newValue <= options.runningRequests else {
            running.wrappingSubtract(1, ordering: .relaxed)
            suspended.wrappingSubtract(1, ordering: .sequentiallyConsistent)
            return .overloaded
        }
        MHD_suspend_connection(connection.handle)
        let now = clock.now
        let request = connection.state.withLock { state in
            state.phase = .running
            state.suspended = true
            state.since = now
            return state.request
        }
        // Made outside the lock: the task may end on another thread before this one goes on.
        let task = Task { [self] in
            let response = await desk.respond(to: head, admission: admission, body: body)
            running.wrappingSubtract(1, ordering: .relaxed)
            finish(connection, request: request, with: response, cancel: false)
        }
        connection.state.withLock { state in
            if state.phase == .running, state.request == request { state.task = task }
        }
        return nil
    }

    /// The library's thread has the connection back.
    func takenUp(_ connection: HTTPConnection) {
        if connection.takenUp() { suspended.wrappingSubtract(1, ordering: .sequentiallyConsistent) }
    }

    /// Answers a running request unless it has been answered.
    private func finish(_ connection: HTTPConnection, request: Int?, with response: HTTPResponse, cancel: Bool) {
        guard let (admission, duration, task) = connection.claim(request: request, now: clock.now) else { return }
        connection.resume(with: desk.close(response, of: admission, took: duration))
        if cancel { task?.cancel() }
    }

    private static func sweepRegularly(_ server: @autoclosure () -> HTTPServer?) async {
        while !Task.isCancelled {
            do { try await Task.sleep(for: .milliseconds(100)) } catch { return }
            guard let server = server() else { return }
            server.sweep(now: server.clock.now)
        }
    }

    /// Ends what took too long: requests that do not arrive, answers nobody reads, idle connections, slow handlers.
    private func sweep(now: ContinuousClock.Instant) {
        let isStopping = self.isStopping
        for connection in snapshot() {
            let (phase, since, deadline) = connection.state.withLock {
                ($0.phase, $0.since, $0.admission?.deadline ?? options.requestDeadline)
            }
            let waited = now - since
            switch phase {
            case .running where waited > deadline:
                finish(connection, request: nil, with: .problem(.deadlineExceeded), cancel: true)
            case .receiving where waited > options.receiveTimeout:
                shut(connection, phase, since, reason: "receive_timeout")
            case .answering where waited > options.sendTimeout:
                shut(connection, phase, since, reason: "send_timeout")
            case .idle where waited > options.idleTimeout: shut(connection, phase, since, reason: "idle_timeout")
            case .idle where isStopping && waited > Self.farewell: shut(connection, phase, since, reason: "stopping")
            default: break
            }
        }
    }

    private func shut(
        _ connection: HTTPConnection,
        _ phase: HTTPConnection.Phase,
        _ since: ContinuousClock.Instant,
        reason: String
    ) {
        connection.shut(counting: closedEarly(reason)) { $0.phase == phase && $0.since == since }
    }
}

extension Problem {
    static let overloaded = Problem.unavailable(
        slug: "overloaded",
        detail: "Too many requests are running.",
        retryAfter: 1
    )

    static let noRoomForBody = Problem.unavailable(
        slug: "overloaded",
        detail: "Too many request bodies are held at the moment.",
        retryAfter: 1
    )

    static let stopping = Problem.unavailable(slug: "stopping", detail: "The server is stopping.", retryAfter: 1)

    static let deadlineExceeded = Problem.unavailable(
        slug: "deadline-exceeded",
        detail: "The request took longer than its deadline.",
        retryAfter: 1
    )
}
