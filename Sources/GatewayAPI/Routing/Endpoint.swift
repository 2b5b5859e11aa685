package import HTTPServer
import Notifications

/// One route of the gateway as it is described: what it is, who may call it, what it does.
package struct Endpoint: Sendable {
    package let method: HTTPMethod
    package let path: String
    package let access: Access
    /// One line for the API description.
    package let summary: String
    /// What the API's description says beside that; every route has one.
    package private(set) var description: RouteDescription?
    let limits: RouteLimits
    let handler: @Sendable (HTTPRequest, Caller) async throws -> HTTPResponse

    init(
        _ method: HTTPMethod,
        _ path: String,
        access: Access,
        summary: String,
        limits: RouteLimits = RouteLimits(),
        handler: @escaping @Sendable (HTTPRequest, Caller) async throws -> HTTPResponse
    ) {
        self.method = method
        self.path = path
        self.access = access
        self.summary = summary
        self.limits = limits
        self.handler = handler
    }

    /// The route with its description.
    func described(_ description: RouteDescription) -> Endpoint {
        var endpoint = self
        endpoint.description = description
        return endpoint
    }

    /// A route for users: its handler is given the user.
    static func user(
        _ method: HTTPMethod,
        _ path: String,
        summary: String,
        handler: @escaping @Sendable (HTTPRequest, UserID) async throws -> HTTPResponse
    ) -> Endpoint {
        Endpoint(method, path, access: .user, summary: summary) { request, caller in
            guard case .user(let user) = caller else { throw Problem.unauthenticated }
            return try await handler(request, user)
        }
    }

    /// A route for backends: its handler is given the credential.
    static func service(
        _ method: HTTPMethod,
        _ path: String,
        scope: Scope,
        summary: String,
        limits: RouteLimits = RouteLimits(),
        handler: @escaping @Sendable (HTTPRequest, ServiceCredential) async throws -> HTTPResponse
    ) -> Endpoint {
        Endpoint(method, path, access: .service(scope), summary: summary, limits: limits) { request, caller in
            guard case .service(let credential) = caller else { throw Problem.unauthenticated }
            return try await handler(request, credential)
        }
    }
}
