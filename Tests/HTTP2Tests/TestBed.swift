import HTTP2
import Kernel
import Observability
import Signing
import Synchronization

/// A server of ours with a scripted handler, and what a client needs to reach it.
struct TestBed {
    let server: HTTP2Server
    let tls: TLSClientConfiguration
    let telemetry = Telemetry.silent()

    static func identity(hosts: [String] = ["localhost", "127.0.0.1"]) throws -> TLSIdentity {
        let made = try SelfSigned.make(hosts: hosts, validFor: .seconds(86_400), now: SystemWallClock().now)
        return TLSIdentity(certificatePEM: made.certificatePEM, privateKeyPEM: made.keyPEM)
    }

    init(
        options: HTTP2ServerOptions = HTTP2ServerOptions(),
        identity: TLSIdentity? = nil,
        handler: any HTTP2ServerHandler
    ) async throws {
        let identity = try identity ?? Self.identity()
        tls = TLSClientConfiguration(trust: .certificates(pem: identity.certificatePEM))
        server = try await HTTP2Server.start(
            host: "127.0.0.1",
            port: 0,
            tls: TLSServerConfiguration(identity: identity),
            options: options,
            handler: handler,
            telemetry: Telemetry.silent()
        )
    }

    init(
        options: HTTP2ServerOptions = HTTP2ServerOptions(),
        _ script: @escaping @Sendable (HTTP2ServerRequest, HTTP2Responder) -> Void
    ) async throws {
        try await self.init(options: options, handler: ScriptedHandler(script))
    }

    func connect(_ options: HTTP2ClientOptions = HTTP2ClientOptions()) async throws -> HTTP2ClientConnection {
        try await HTTP2ClientConnection.connect(
            host: "127.0.0.1",
            port: server.port,
            tls: tls,
            options: options,
            telemetry: telemetry
        )
    }
}

/// Answers with a closure.
struct ScriptedHandler: HTTP2ServerHandler {
    private let script: @Sendable (HTTP2ServerRequest, HTTP2Responder) -> Void

    init(_ script: @escaping @Sendable (HTTP2ServerRequest, HTTP2Responder) -> Void) {
        self.script = script
    }

    func handle(_ request: HTTP2ServerRequest, respond: HTTP2Responder) {
        script(request, respond)
    }
}

/// Collects values of other threads; `wait` returns when there are enough.
final class Collector<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    var elements: [Element] { state.withLock { $0.elements } }

    func append(_ element: Element) {
        let woken = state.withLock { state in
            state.elements.append(element)
            let count = state.elements.count
            let woken = state.waiters.filter { $0.count <= count }
            state.waiters.removeAll { $0.count <= count }
            return woken
        }
        for waiter in woken { waiter.continuation.resume() }
    }

    @discardableResult
    func wait(for count: Int) async -> [Element] {
        await withCheckedContinuation { continuation in
            let enough = state.withLock { state in
                if state.elements.count >= count { return true }
                state.waiters.append((count, continuation))
                return false
            }
            if enough { continuation.resume() }
        }
        return elements
    }
}

extension HTTP2Request {
    static func push(_ path: String = "/3/device/a1", body: [UInt8] = Array(#"{"aps":{}}"#.utf8)) -> HTTP2Request {
        HTTP2Request(
            method: "POST",
            path: path,
            authority: "localhost",
            headers: [HTTP2Header("apns-topic", "com.example.app")],
            body: body
        )
    }
}

extension HTTP2ClientConnection {
    /// Waits until the state is as wanted.
    func wait(until wanted: @escaping @Sendable (State) -> Bool) async -> State {
        let seen = Collector<State>()
        onStateChange { if wanted($0) { seen.append($0) } }
        return await seen.wait(for: 1)[0]
    }
}

/// The error of an operation that must fail.
func failure<Value>(_ operation: () async throws(HTTP2Error) -> Value) async -> HTTP2Error? {
    do {
        _ = try await operation()
        return nil
    } catch {
        return error
    }
}
