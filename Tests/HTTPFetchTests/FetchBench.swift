import Foundation
import HTTPServer
import Kernel
import Observability
import Synchronization
import Testing

@testable import HTTPFetch

/// A server with a few routes on the loopback, and clients that talk to it.
struct FetchBench: Sendable {
    let server: HTTPServer
    let telemetry: Telemetry
    /// Requests that arrived, by route.
    let seen: Log
    /// Lets requests to `/wait` be answered.
    let gate: Gate

    var base: String { "http://127.0.0.1:\(server.port)" }

    static func run(_ body: (FetchBench) async throws -> Void) async throws {
        let seen = Log()
        let gate = Gate()
        var router = Router()
        router.on(.get, "/hello") { request in
            seen.add("/hello \(request.headers["user-agent"] ?? "") \(request.headers["x-extra"] ?? "")")
            return HTTPResponse(status: 200, headers: ["x-answer": "yes"], body: Array("hello".utf8))
        }
        router.on(.post, "/echo", limits: RouteLimits(bodyBytes: 4 * 1024 * 1024)) { request in
            seen.add("/echo \(request.headers["content-type"] ?? "") \(request.headers["expect"] ?? "")")
            return HTTPResponse(status: 201, body: request.body)
        }
        router.on(.get, "/bytes/{count}") { request in
            let count = Int(request.parameters["count"] ?? "") ?? 0
            return HTTPResponse(status: 200, body: [UInt8](repeating: 0x78, count: count))
        }
        router.on(.get, "/elsewhere") { _ in HTTPResponse(status: 302, headers: ["location": "/hello"]) }
        router.on(.get, "/round") { _ in HTTPResponse(status: 302, headers: ["location": "/round"]) }
        router.on(.get, "/later") { _ in HTTPResponse(status: 503, headers: ["retry-after": "7"]) }
        router.on(.get, "/wait") { _ in
            seen.add("/wait")
            await gate.wait()
            return HTTPResponse(status: 200)
        }
        let server = try HTTPServer.start(
            options: HTTPServerOptions(listen: "127.0.0.1:0"),
            desk: RequestDeskOptions(problemTypePrefix: "urn:test:"),
            router: router,
            telemetry: .silent()
        )
        let bench = FetchBench(server: server, telemetry: .silent(), seen: seen, gate: gate)
        do {
            try await body(bench)
            gate.open()
            await server.stop(deadline: .seconds(1))
        } catch {
            gate.open()
            await server.stop(deadline: .seconds(1))
            throw error
        }
    }

    /// Runs `body` with a client that may speak plain HTTP to the loopback.
    func client<Value>(
        _ change: (inout FetchOptions) -> Void = { _ in },
        _ body: (HTTPFetch) async throws -> Value
    ) async throws -> Value {
        var options = FetchOptions(name: "test")
        options.plainHTTP = .loopback
        change(&options)
        let client = HTTPFetch(options: options, telemetry: telemetry)
        do {
            let value = try await body(client)
            await client.close()
            return value
        } catch {
            await client.close()
            throw error
        }
    }

    /// The error that a request ends in, `nil` for an answer.
    func failure(_ request: FetchRequest, _ change: (inout FetchOptions) -> Void = { _ in }) async throws -> FetchError?
    {
        try await client(change) { client in
            do throws(FetchError) {
                _ = try await client.send(request)
                return nil
            } catch {
                return error
            }
        }
    }

    func count(_ outcome: String) -> Int {
        telemetry.metrics.counter(
            "fetch_requests_total",
            help: "",
            labels: [("client", "test"), ("outcome", outcome)]
        ).current
    }
}

/// What arrived, in order.
final class Log: Sendable {
    private let lines = Mutex<[String]>([])

    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
}

/// Holds back whoever comes until it is opened.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiters.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}
