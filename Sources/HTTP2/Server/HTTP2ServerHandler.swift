/// Answers the requests of an `HTTP2Server`. Everything is called on the server's one thread and must not block; answers may
/// be given later, from any thread.
package protocol HTTP2ServerHandler: Sendable {
    /// A connection is ready for requests.
    func connectionOpened(_ connection: HTTP2ConnectionControl)
    /// A complete request.
    func handle(_ request: HTTP2ServerRequest, respond: HTTP2Responder)
    /// A connection is gone; its responders do nothing from now on.
    func connectionClosed(_ connectionID: Int)
}

extension HTTP2ServerHandler {
    package func connectionOpened(_ connection: HTTP2ConnectionControl) {}
    package func connectionClosed(_ connectionID: Int) {}
}

/// A request as the server received it.
package struct HTTP2ServerRequest: Sendable {
    /// Never used again within one server.
    package let connectionID: Int
    package let streamID: Int32
    package let method: String
    /// Path and query.
    package let path: String
    package let authority: String
    /// Without pseudo-headers, in the order of arrival.
    package let headers: [HTTP2Header]
    package let body: [UInt8]
    /// The common name of the client's verified certificate, where it showed one.
    package let clientName: String?

    /// The value of the first header with this lower-case name.
    package func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }
}
