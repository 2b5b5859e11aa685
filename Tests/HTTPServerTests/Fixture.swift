import HTTPServer
import Kernel
import Observability
import Testing

/// A gate that a handler waits at until the test opens it.
final class Gate: Sendable {
    private let entered = BoundedChannel<Void>(capacity: 64)
    private let opened = BoundedChannel<Void>(capacity: 64)

    /// For the handler.
    func pass() async {
        await entered.send(())
        _ = await opened.receive()
    }

    /// Returns when a handler stands at the gate.
    func waitForHandler() async { _ = await entered.receive() }

    func open() async { await opened.send(()) }
}

/// A running server with routes to try things on.
struct Fixture {
    let server: HTTPServer
    let sink = MemorySink()
    let telemetry: Telemetry
    let gate = Gate()

    init(_ adjust: (inout HTTPServerOptions) -> Void = { _ in }) throws {
        var options = HTTPServerOptions(listen: "127.0.0.1:0")
        adjust(&options)
        telemetry = Telemetry.silent(sink: sink)
        server = try HTTPServer.start(
            options: options,
            desk: Fixture.desk,
            router: Fixture.router(gate: gate),
            telemetry: telemetry
        )
    }

    static let desk = RequestDeskOptions(problemTypePrefix: "urn:test:problem:")

    static func router(gate: Gate = Gate()) -> Router {
        var router = Router()
        router.on(.get, "/hello") { _ in .json(["hello": "world"]) }
        router.on(.get, "/things/{id}") { request in
            .json(["id": .string(request.parameters["id"] ?? ""), "q": .optional(request.query("q"))])
        }
        router.on(.delete, "/things/{id}") { _ in .noContent }
        router.on(.post, "/echo", limits: RouteLimits(bodyBytes: 1000)) { request in
            .json(["size": .integer(request.body.count), "id": .string(request.id)])
        }
        router.on(
            .post,
            "/guarded",
            limits: RouteLimits(bodyBytes: 8 * 1024 * 1024),
            guarding: { headers throws(Problem) in
                guard headers["x-key"] == "right" else { throw Problem(status: 401, slug: "no-key", title: "No key") }
            },
            handler: { request in .json(["size": .integer(request.body.count)]) }
        )
        router.on(.post, "/hold", limits: RouteLimits(bodyBytes: 100_000)) { request in
            await gate.pass()
            return .json(["size": .integer(request.body.count)])
        }
        router.on(.post, "/json") { request in .json(try request.json()) }
        router.on(.get, "/address") { .json(["address": .string($0.remoteAddress)]) }
        router.on(.get, "/gate") { _ in
            await gate.pass()
            return .json(["passed": true])
        }
        router.on(.get, "/large") { _ in
            HTTPResponse(status: 200, body: [UInt8](repeating: 0x61, count: 64 * 1024 * 1024))
        }
        router.on(.get, "/fails") { _ in throw RawClient.Failure(text: "secret detail") }
        router.on(.get, "/refuses") { _ in
            throw Problem(
                status: 422,
                slug: "bad",
                title: "Bad",
                faults: [.init(pointer: "/a", detail: "x"), .init(pointer: "/b", detail: "y")]
            )
        }
        return router
    }

    func client() throws -> RawClient { try RawClient(port: server.port) }

    func stop() async { await server.stop(deadline: .zero) }
}
