/// A request as the client sends it. The scheme is always `https`.
package struct HTTP2Request: Sendable {
    package var method: String
    /// Path and query, beginning with a slash.
    package var path: String
    /// Host and, where it is not 443, port.
    package var authority: String
    package var headers: [HTTP2Header]
    package var body: [UInt8]

    package init(method: String, path: String, authority: String, headers: [HTTP2Header] = [], body: [UInt8] = []) {
        self.method = method
        self.path = path
        self.authority = authority
        self.headers = headers
        self.body = body
    }

    /// What the request weighs in the queue, in bytes.
    var weight: Int {
        headers.reduce(body.count + path.utf8.count + 128) { $0 + $1.name.utf8.count + $1.value.utf8.count + 32 }
    }
}
