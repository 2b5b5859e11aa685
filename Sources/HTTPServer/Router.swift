/// What a route allows.
package struct RouteLimits: Sendable {
    /// The largest body in bytes.
    package var bodyBytes: Int
    /// How long the handler may take before the client is answered 503; `nil` for the server's own limit.
    package var deadline: Duration?

    package init(bodyBytes: Int = 64 * 1024, deadline: Duration? = nil) {
        self.bodyBytes = bodyBytes
        self.deadline = deadline
    }
}

/// Answers one request. A thrown `Problem` is the answer; any other error is logged and answered 500.
package typealias RouteHandler = @Sendable (HTTPRequest) async throws -> HTTPResponse

/// Judges a request by its header fields before its body is read, so that a stranger's body is never held. It may let through what the
/// handler will refuse.
package typealias RouteGuard = @Sendable (HTTPHeaders) throws(Problem) -> Void

/// One method on one path template.
struct Route: Sendable {
    let index: Int
    let method: HTTPMethod
    let template: String
    let parameterNames: [String]
    let limits: RouteLimits
    let guarding: RouteGuard?
    let handler: RouteHandler
}

/// Routes by path template. A literal segment goes before a `{parameter}` in the same place; `HEAD` is answered by `GET`,
/// `OPTIONS` by the list of methods.
package struct Router: Sendable {
    /// What a method and path lead to.
    enum Match: Sendable {
        case route(Route, parameters: [String: String])
        /// The path exists; its methods for an `Allow` header.
        case otherMethods(template: String, allow: String)
        case none
    }

    private struct Node: Sendable {
        var literals: [String: Int] = [:]
        var parameter: Int?
        var routes: [HTTPMethod: Route] = [:]
    }

    private var nodes: [Node] = [Node()]
    private(set) var routeCount = 0

    package init() {}

    /// Adds a route.
    ///
    /// Two routes with the same method and shape are a programmer's mistake and stop the process.
    /// - Parameters:
    ///   - template: segments after slashes; `{name}` takes one non-empty segment.
    ///   - guarding: asked before a body is read. It runs on a thread that serves many connections and must not wait.
    package mutating func on(
        _ method: HTTPMethod,
        _ template: String,
        limits: RouteLimits = RouteLimits(),
        guarding: RouteGuard? = nil,
        handler: @escaping RouteHandler
    ) {
        precondition(template.hasPrefix("/"), "a template starts with a slash: \(template)")
        var names: [String] = []
        var node = 0
        for segment in template.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            if segment.hasPrefix("{"), segment.hasSuffix("}") {
                names.append(String(segment.dropFirst().dropLast()))
                node = nodes[node].parameter ?? grow { nodes, new in nodes[node].parameter = new }
            } else {
                let literal = String(segment)
                node = nodes[node].literals[literal] ?? grow { nodes, new in nodes[node].literals[literal] = new }
            }
        }
        precondition(nodes[node].routes[method] == nil, "\(method.rawValue) \(template) is registered twice")
        nodes[node].routes[method] = Route(
            index: routeCount,
            method: method,
            template: template,
            parameterNames: names,
            limits: limits,
            guarding: guarding,
            handler: handler
        )
        routeCount += 1
    }

    private mutating func grow(_ link: (inout [Node], Int) -> Void) -> Int {
        nodes.append(Node())
        link(&nodes, nodes.count - 1)
        return nodes.count - 1
    }

    /// Finds the route for decoded path segments.
    func match(_ method: HTTPMethod, _ segments: [String]) -> Match {
        var found: [(node: Int, values: [String])] = []
        collect(node: 0, segments: segments[...], values: [], into: &found)
        for candidate in found {
            let routes = nodes[candidate.node].routes
            if let route = routes[method] ?? (method == .head ? routes[.get] : nil) {
                let pairs = zip(route.parameterNames, candidate.values)
                return .route(route, parameters: Dictionary(pairs) { first, _ in first })
            }
        }
        var allowed: Set<HTTPMethod> = []
        for candidate in found { allowed.formUnion(nodes[candidate.node].routes.keys) }
        guard let first = found.first.flatMap({ nodes[$0.node].routes.values.min { $0.index < $1.index } }) else {
            return .none
        }
        if allowed.contains(.get) { allowed.insert(.head) }
        allowed.insert(.options)
        let allow = allowed.map(\.rawValue).sorted().joined(separator: ", ")
        return .otherMethods(template: first.template, allow: allow)
    }

    /// Every node with routes that the segments lead to, literal turns first.
    private func collect(
        node: Int,
        segments: ArraySlice<String>,
        values: [String],
        into found: inout [(node: Int, values: [String])]
    ) {
        guard let segment = segments.first else {
            if !nodes[node].routes.isEmpty { found.append((node, values)) }
            return
        }
        if let next = nodes[node].literals[segment] {
            collect(node: next, segments: segments.dropFirst(), values: values, into: &found)
        }
        if let next = nodes[node].parameter, !segment.isEmpty {
            collect(node: next, segments: segments.dropFirst(), values: values + [segment], into: &found)
        }
    }
}
