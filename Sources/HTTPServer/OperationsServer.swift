import Kernel
package import Observability

/// What operators and their tools ask a process, on an address of its own: `/metrics` for Prometheus, `/livez` and `/readyz`
/// for supervisors and load balancers.
package struct OperationsServer: Sendable {
    private let server: HTTPServer

    /// The port that was really bound.
    package var port: Int { server.port }

    /// Starts listening.
    /// - Parameters:
    ///   - listen: `host:port`; port 0 takes a free one.
    ///   - liveness: a reason why the process should be restarted, `nil` while it works.
    /// - Throws: `HTTPServerError` for an address that cannot be read, resolved or bound.
    package static func start(
        listen: String,
        telemetry: Telemetry,
        liveness: @escaping @Sendable () -> String? = { nil }
    ) throws(HTTPServerError) -> OperationsServer {
        let options = HTTPServerOptions(listen: listen, threads: 1, connections: 64, runningRequests: 16)
        // Its requests are neither counted nor logged at info: probes would drown what matters.
        let desk = RequestDeskOptions(problemTypePrefix: "about:blank#", recordMetrics: false)
        return OperationsServer(
            server: try HTTPServer.start(
                options: options,
                desk: desk,
                router: router(telemetry: telemetry, liveness: liveness),
                telemetry: telemetry
            )
        )
    }

    /// The routes alone, for tests and for in-process use.
    package static func router(telemetry: Telemetry, liveness: @escaping @Sendable () -> String? = { nil }) -> Router {
        telemetry.metrics.gauge("process_ready", help: "1 while every condition of readiness holds.") {
            [health = telemetry.health] in
            health.isReady ? 1 : 0
        }
        var router = Router()
        router.on(.get, "/metrics") { _ in
            HTTPResponse(
                status: 200,
                headers: ["content-type": "text/plain; version=0.0.4; charset=utf-8"],
                body: Array(telemetry.metrics.render().utf8)
            )
        }
        router.on(.get, "/livez") { _ in
            guard let reason = liveness() else { return .json(["status": "ok"]) }
            return .json(["status": "failing", "reason": .string(reason)], status: 503)
        }
        router.on(.get, "/readyz") { _ in
            let problems = telemetry.health.problems
            guard !problems.isEmpty else { return .json(["status": "ok"]) }
            let reasons = problems.map { JSONMember($0.name, .string($0.reason)) }
            return .json(["status": "not ready", "problems": .object(reasons)], status: 503)
        }
        return router
    }

    /// Stops within the deadline.
    package func stop(deadline: Duration = .seconds(1)) async {
        await server.stop(deadline: deadline)
    }
}
