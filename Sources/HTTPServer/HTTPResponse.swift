package import Kernel

/// An answer: either bytes, or a problem that is written out with the request's id when it is sent.
package struct HTTPResponse: Sendable {
    package var status: Int
    package var headers: HTTPHeaders
    package var body: [UInt8]
    /// Set while the answer is a problem that is not written out yet.
    package private(set) var problem: Problem?

    package init(status: Int, headers: HTTPHeaders = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// JSON with its content type.
    package static func json(_ value: JSONValue, status: Int = 200, headers: HTTPHeaders = [:]) -> HTTPResponse {
        json(value.utf8, status: status, headers: headers)
    }

    /// JSON that is written already.
    package static func json(_ bytes: [UInt8], status: Int = 200, headers: HTTPHeaders = [:]) -> HTTPResponse {
        var headers = headers
        headers["content-type"] = "application/json"
        return HTTPResponse(status: status, headers: headers, body: bytes)
    }

    /// 204 without a body.
    package static var noContent: HTTPResponse { HTTPResponse(status: 204) }

    /// A problem as an answer; throwing it from a handler does the same.
    package static func problem(_ problem: Problem) -> HTTPResponse {
        var response = HTTPResponse(status: problem.status, headers: problem.headers)
        response.problem = problem
        return response
    }

    /// The answer as it is sent: with the request id, and a problem as `application/problem+json`.
    func finished(requestID: String, problemTypePrefix: String) -> HTTPResponse {
        var response = self
        if let problem {
            response.headers["content-type"] = "application/problem+json"
            response.body = problem.body(requestID: requestID, typePrefix: problemTypePrefix)
            response.problem = nil
        }
        response.headers["x-request-id"] = requestID
        return response
    }
}
