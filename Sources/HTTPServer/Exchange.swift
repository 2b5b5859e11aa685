import CMicrohttpd
import Synchronization

/// The steps of one request on the library's thread: judge the head, collect the body, hand over to a task, send the answer.
struct Exchange {
    let server: HTTPServer
    let connection: HTTPConnection
    let handle: OpaquePointer

    /// The head is complete; decides whether the body is worth reading.
    func headArrived(method: String) -> MHD_Result {
        let headers = Self.headers(of: handle)
        let framing = RequestFraming(headers)
        let target = connection.state.withLock(\.target)
        var head = RequestHead(method: method, target: target, headers: headers, peer: connection.peer)
        let size = shim_mhd_header_size(handle)
        head.fault = framing.fault
        head.hasBody = framing.hasBody
        if size > server.options.headerBytes { head.fault = .headTooLarge(limit: server.options.headerBytes) }
        let admission = server.desk.admit(head)

        var refusal: Problem?
        if case .refused(let problem) = admission.outcome { refusal = problem }
        if refusal == nil, framing.length > admission.bodyLimit { refusal = .bodyTooLarge(limit: admission.bodyLimit) }
        connection.state.withLock { state in
            state.head = head
            state.admission = admission
            state.refusal = refusal
            // Room for what has not come yet is not taken for granted: a declared length costs a stranger nothing.
            state.body.reserveCapacity(min(framing.length, admission.bodyLimit, 16 * 1024))
        }
        guard let refusal else { return .YES }
        // An answer in this first step makes the library close the connection, because it has not read the body. That is
        // right where the end of the request cannot be trusted or is too far away, or where the client waits to be asked.
        let discardable = framing.length <= server.options.discardedBytes && !framing.expectsContinue
        if framing.fault != nil || framing.hasBody && !discardable {
            return answer(refusal, of: admission, closing: true)
        }
        return .YES
    }

    /// A piece of the body came.
    func bodyArrived(_ bytes: UnsafeRawBufferPointer) -> MHD_Result {
        let limit = server.options.discardedBytes
        return connection.state.withLock { state in
            guard let admission = state.admission else { return .NO }
            state.received += bytes.count
            if state.received > max(limit, admission.bodyLimit) { return .NO }
            if state.refusal == nil, state.received > admission.bodyLimit {
                state.refusal = .bodyTooLarge(limit: admission.bodyLimit)
                state.body = []
            }
            guard state.refusal == nil else { return .YES }
            guard server.budget.take(bytes.count) else {
                state.refusal = .noRoomForBody
                state.body = []
                return .YES
            }
            state.budgeted += bytes.count
            state.body.append(contentsOf: bytes)
            return .YES
        }
    }

    /// The request is complete, or its answer is.
    func proceed() -> MHD_Result {
        let (head, admission, body, refusal, response) = connection.state.withLock { state in
            defer { state.body = [] }
            return (state.head, state.admission, state.body, state.refusal, state.response)
        }
        guard let head, let admission else { return .NO }
        if let response {
            server.takenUp(connection)
            return send(response, closing: false)
        }
        if let refusal { return answer(refusal, of: admission, closing: refusal.status == 413) }
        if case .answered(let response) = admission.outcome {
            return send(server.desk.close(response, of: admission, took: .zero), closing: false)
        }
        guard let problem = server.run(connection, head: head, admission: admission, body: body) else { return .YES }
        return answer(problem, of: admission, closing: false)
    }

    private func answer(_ problem: Problem, of admission: Admission, closing: Bool) -> MHD_Result {
        send(server.desk.close(.problem(problem), of: admission, took: .zero), closing: closing)
    }

    /// Hands an answer to the library.
    private func send(_ response: HTTPResponse, closing: Bool) -> MHD_Result {
        let now = server.clock.now
        connection.state.withLock { state in
            state.phase = .answering
            state.since = now
        }
        let made = response.body.withUnsafeBytes { bytes in
            shim_mhd_response(bytes.baseAddress, bytes.count)
        }
        guard let made else { return .NO }
        defer { MHD_destroy_response(made) }
        for field in response.headers.fields { MHD_add_response_header(made, field.name, field.value) }
        if closing || server.isStopping { MHD_add_response_header(made, "connection", "close") }
        return MHD_queue_response(handle, UInt32(response.status), made)
    }

    private static func headers(of handle: OpaquePointer) -> HTTPHeaders {
        var headers = HTTPHeaders()
        withUnsafeMutablePointer(to: &headers) { pointer in
            _ = MHD_get_connection_values(handle, .HEADER_KIND, collectHeader, pointer)
        }
        return headers
    }
}

private func collectHeader(
    _ context: UnsafeMutableRawPointer?,
    _ kind: MHD_ValueKind,
    _ name: UnsafePointer<CChar>?,
    _ value: UnsafePointer<CChar>?
) -> MHD_Result {
    guard let context, let name else { return .NO }
    let headers = context.assumingMemoryBound(to: HTTPHeaders.self)
    headers.pointee.add(String(cString: name), value.map { String(cString: $0) } ?? "")
    return .YES
}
