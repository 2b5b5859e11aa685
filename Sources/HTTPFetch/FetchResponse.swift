package import Kernel

/// A complete answer of any status.
package struct FetchResponse: Sendable {
    package let status: Int
    /// Names in lower case, in the order of arrival; those of the last answer where a redirect was followed.
    package let headers: [(name: String, value: String)]
    package let body: [UInt8]

    package init(status: Int, headers: [(name: String, value: String)], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The value of the first header with this lower-case name.
    package func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }

    /// The header `retry-after` in seconds, at most a day; a date is not understood.
    package var retryAfter: Duration? {
        header("retry-after").flatMap { Int64($0) }.flatMap { (0...86_400).contains($0) ? .seconds($0) : nil }
    }

    /// The body as JSON.
    package func json() throws(JSONError) -> JSONValue {
        try JSONValue(parsing: body)
    }
}
