import HTTPServer
import Kernel
import Observability

/// Puts the guards in front of the described routes.
struct GatewayRouter: Sendable {
    let doorkeeper: Doorkeeper
    let telemetry: Telemetry

    /// The router of all endpoints.
    func router(_ endpoints: [Endpoint]) -> Router {
        var router = Router()
        for endpoint in endpoints {
            router.on(
                endpoint.method,
                endpoint.path,
                limits: endpoint.limits,
                guarding: { headers throws(Problem) in try doorkeeper.screen(headers, for: endpoint.access) },
                handler: { request in try await answer(request, endpoint) }
            )
        }
        return router
    }

    private func answer(_ request: HTTPRequest, _ endpoint: Endpoint) async throws -> HTTPResponse {
        do {
            let caller = try await doorkeeper.admit(request.headers, to: endpoint.access)
            return try await endpoint.handler(request, caller)
        } catch let unavailable as Unavailable {
            telemetry.metrics.counter(
                "gateway_dependency_failures_total",
                help: "Requests answered 503 because a server behind the gateway did not answer.",
                labels: [("dependency", unavailable.dependency)]
            )
            .increment()
            telemetry.logger.warning(
                "dependency not available",
                [
                    "dependency": .string(unavailable.dependency), "reason": .string(unavailable.reason),
                    "route": .string(endpoint.path), "requestId": .string(request.id),
                ]
            )
            throw Problem.unavailable(
                slug: "temporarily-unavailable",
                detail: "A part of the service does not answer at the moment.",
                retryAfter: 2
            )
        }
    }
}
