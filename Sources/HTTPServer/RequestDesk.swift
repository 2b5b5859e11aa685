import Kernel
import Observability

/// The head of a request as a transport received it.
struct RequestHead: Sendable {
    var method: String
    var target: String
    var headers: HTTPHeaders
    var peer: IPAddress
    /// Whether a body follows.
    var hasBody = false
    /// What the transport itself found wrong: the request is refused with it.
    var fault: Problem?
}

/// What the desk decided on seeing a head.
struct Admission: Sendable {
    enum Outcome: Sendable {
        case route(Route, parameters: [String: String], target: RequestTarget)
        case refused(Problem)
        /// Answered without a handler: `OPTIONS`.
        case answered(HTTPResponse)
    }

    let outcome: Outcome
    let method: HTTPMethod?
    let requestID: String
    /// The route template or a fixed word, for logs and metrics.
    let label: String

    /// The largest body worth reading.
    var bodyLimit: Int {
        if case .route(let route, _, _) = outcome { return route.limits.bodyBytes }
        return RouteLimits().bodyBytes
    }

    var deadline: Duration? {
        if case .route(let route, _, _) = outcome { return route.limits.deadline }
        return nil
    }
}

/// Settings of what happens between a complete request and its answer.
package struct RequestDeskOptions: Sendable {
    /// Stands before the slug in a problem's `type`, such as `urn:example:problem:`.
    package var problemTypePrefix: String
    /// Proxies whose `X-Forwarded-For` is believed.
    package var trustedProxies: TrustedProxies
    /// The longest request target in bytes.
    package var targetBytes: Int
    /// How many header fields a request may carry.
    package var headerCount: Int
    /// Added to every answer that does not set them itself.
    package var commonHeaders: HTTPHeaders
    /// Write answered requests at `info`; otherwise 5xx at `info` and the rest at `debug`.
    package var logEveryRequest: Bool
    /// Whether requests are counted and timed.
    package var recordMetrics: Bool

    package init(
        problemTypePrefix: String,
        trustedProxies: TrustedProxies = TrustedProxies(),
        targetBytes: Int = 8 * 1024,
        headerCount: Int = 64,
        commonHeaders: HTTPHeaders = ["cache-control": "no-store"],
        logEveryRequest: Bool = false,
        recordMetrics: Bool = true
    ) {
        self.problemTypePrefix = problemTypePrefix
        self.trustedProxies = trustedProxies
        self.targetBytes = targetBytes
        self.headerCount = headerCount
        self.commonHeaders = commonHeaders
        self.logEveryRequest = logEveryRequest
        self.recordMetrics = recordMetrics
    }
}

/// Everything between a transport and the handlers: limits on the head, routing, request ids, problems, access log, metrics.
/// The socket server and `InProcessClient` both stand in front of one.
struct RequestDesk: Sendable {
    let router: Router
    let options: RequestDeskOptions
    let logger: Logger
    let metrics: HTTPServerMetrics?
    /// Makes request ids; injected for tests.
    let mintID: @Sendable () -> String

    init(router: Router, options: RequestDeskOptions, telemetry: Telemetry, mintID: (@Sendable () -> String)? = nil) {
        self.router = router
        self.options = options
        logger = telemetry.logger
        metrics = options.recordMetrics ? HTTPServerMetrics(registry: telemetry.metrics) : nil
        self.mintID = mintID ?? { Self.randomID() }
    }

    /// Judges a head before any of the body is read.
    func admit(_ head: RequestHead) -> Admission {
        let given = head.headers.values("x-request-id")
        let id = given.count == 1 && Self.isAcceptableID(given[0]) ? given[0] : mintID()
        let method = HTTPMethod(rawValue: head.method)
        func admission(_ label: String, _ outcome: Admission.Outcome) -> Admission {
            Admission(outcome: outcome, method: method, requestID: id, label: label)
        }
        if let fault = head.fault { return admission("(refused)", .refused(fault)) }
        if head.target.utf8.count > options.targetBytes {
            return admission("(refused)", .refused(.targetTooLong(limit: options.targetBytes)))
        }
        if head.headers.fields.count > options.headerCount {
            return admission("(refused)", .refused(.tooManyHeaders(limit: options.headerCount)))
        }
        guard let method else { return admission("(refused)", .refused(.methodNotImplemented)) }
        if method == .options && head.target == "*" {
            let allow = HTTPMethod.allCases.filter { $0 != .trace }.map(\.rawValue).joined(separator: ", ")
            return admission("*", .answered(HTTPResponse(status: 204, headers: ["allow": allow])))
        }
        guard let target = RequestTarget(head.target) else { return admission("(refused)", .refused(.badTarget)) }
        switch router.match(method, target.segments) {
        case .route(let route, let parameters):
            // Where there is no body the handler is about to judge the caller anyway.
            if head.hasBody, let guarding = route.guarding {
                do throws(Problem) { try guarding(head.headers) } catch {
                    return admission(route.template, .refused(error))
                }
            }
            return admission(route.template, .route(route, parameters: parameters, target: target))
        case .otherMethods(let template, let allow) where method == .options:
            return admission(template, .answered(HTTPResponse(status: 204, headers: ["allow": allow])))
        case .otherMethods(let template, let allow):
            return admission(template, .refused(.methodNotAllowed(allow: allow)))
        case .none:
            return admission("(unmatched)", .refused(.notFound))
        }
    }

    /// Runs the handler of an admitted request, or gives the answer that stands already. Never throws: what a handler
    /// throws becomes the answer.
    func respond(to head: RequestHead, admission: Admission, body: [UInt8]) async -> HTTPResponse {
        switch admission.outcome {
        case .answered(let response): return response
        case .refused(let problem): return .problem(problem)
        case .route(let route, let parameters, let target):
            metrics?.started()
            defer { metrics?.ended() }
            let client = options.trustedProxies.client(
                peer: head.peer,
                forwardedFor: head.headers.values("x-forwarded-for")
            )
            let request = HTTPRequest(
                method: admission.method ?? route.method,
                path: target.path,
                route: route.template,
                query: target.query.map { (name: $0.name, value: $0.value) },
                headers: head.headers,
                body: body,
                remoteAddress: client.description,
                id: admission.requestID,
                parameters: parameters
            )
            do {
                return try await route.handler(request)
            } catch let problem as Problem {
                return .problem(problem)
            } catch is CancellationError {
                return .problem(.cancelled)
            } catch {
                logger.error(
                    "request failed",
                    [
                        "requestId": .string(admission.requestID), "route": .string(route.template),
                        "error": .error(error),
                    ]
                )
                return .problem(.internalError)
            }
        }
    }

    /// Completes an answer, counts it and writes the access log. Called once a request.
    func close(_ response: HTTPResponse, of admission: Admission, took duration: Duration) -> HTTPResponse {
        var finished = response.finished(
            requestID: admission.requestID,
            problemTypePrefix: options.problemTypePrefix
        )
        for field in options.commonHeaders.fields where !finished.headers.contains(field.name) {
            finished.headers.add(field.name, field.value)
        }
        let method = admission.method?.rawValue ?? "other"
        metrics?.answered(method: method, route: admission.label, status: finished.status, duration: duration)
        let level: LogLevel = options.logEveryRequest || finished.status >= 500 ? .info : .debug
        if logger.records(level) {
            let fields: KeyValuePairs<String, JSONValue> = [
                "method": .string(method), "route": .string(admission.label), "status": .integer(finished.status),
                "durationMicroseconds": .integer(duration.microseconds), "requestId": .string(admission.requestID),
            ]
            if level == .info { logger.info("request", fields) } else { logger.debug("request", fields) }
        }
        return finished
    }

    /// Whether a caller's request id may be echoed and logged: 1 to 128 of letters, digits, `.`, `_` and `-`.
    static func isAcceptableID(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 48...57, 65...90, 97...122, UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"): true
                default: false
                }
            }
    }

    private static func randomID() -> String {
        UUIDBits(high: .random(in: .min ... .max), low: .random(in: .min ... .max)).description
    }
}

extension Problem {
    static let cancelled = Problem.unavailable(
        slug: "interrupted",
        detail: "The request was interrupted before it ended.",
        retryAfter: 1
    )

    static let methodNotImplemented = Problem(
        status: 501,
        slug: "method-not-implemented",
        title: "Method not implemented",
        detail: "The server does not know this method."
    )

    static func targetTooLong(limit: Int) -> Problem {
        Problem(
            status: 414,
            slug: "uri-too-long",
            title: "URI too long",
            detail: "The path and query may have \(limit) bytes together."
        )
    }

    static func tooManyHeaders(limit: Int) -> Problem {
        Problem(
            status: 431,
            slug: "header-fields-too-large",
            title: "Header fields too large",
            detail: "A request may carry \(limit) header fields."
        )
    }
}
