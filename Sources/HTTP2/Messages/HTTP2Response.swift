/// A complete answer. Interim answers (1xx) and trailers are not part of it.
package struct HTTP2Response: Sendable {
    package let status: Int
    /// In the order of arrival, without `:status`.
    package let headers: [HTTP2Header]
    package let body: [UInt8]

    package init(status: Int, headers: [HTTP2Header] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The value of the first header with this lower-case name.
    package func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }
}
