package import Observability

/// Drives a router without a socket, through the same desk as the server: the same limits, problems, ids, logs and metrics.
package struct InProcessClient: Sendable {
    private let desk: RequestDesk
    private let peer: IPAddress

    /// - Parameter peer: what the requests claim as the other end of their connection.
    package init(router: Router, options: RequestDeskOptions, telemetry: Telemetry, peer: String = "127.0.0.1") {
        desk = RequestDesk(router: router, options: options, telemetry: telemetry)
        self.peer = IPAddress(peer) ?? IPAddress(ipv4: [127, 0, 0, 1])
    }

    /// Sends a request and returns the finished answer.
    /// - Parameter target: path and query as they would stand in a request line.
    package func send(
        _ method: HTTPMethod,
        _ target: String,
        headers: HTTPHeaders = [:],
        body: [UInt8] = []
    ) async -> HTTPResponse {
        let clock = ContinuousClock()
        let start = clock.now
        var head = RequestHead(method: method.rawValue, target: target, headers: headers, peer: peer)
        head.hasBody = !body.isEmpty
        let admission = desk.admit(head)
        var response: HTTPResponse
        if body.count > admission.bodyLimit {
            response = .problem(.bodyTooLarge(limit: admission.bodyLimit))
        } else {
            response = await desk.respond(to: head, admission: admission, body: body)
        }
        response = desk.close(response, of: admission, took: clock.now - start)
        if method == .head { response.body = [] }
        return response
    }
}
