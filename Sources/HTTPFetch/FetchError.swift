/// Why no complete answer came. An answer of any status is no error.
package struct FetchError: Error, CustomStringConvertible, Equatable {
    /// What went wrong; the raw value is a metric label.
    package enum Code: String, Sendable, CaseIterable {
        /// The URL cannot be read, or a header holds what no header may.
        case invalidRequest = "invalid_request"
        /// A scheme other than the options allow.
        case schemeNotAllowed = "scheme_not_allowed"
        /// The name has no address.
        case resolveFailed = "resolve_failed"
        /// Every address of the host is private, which the options do not allow.
        case addressNotAllowed = "address_not_allowed"
        case connectFailed = "connect_failed"
        /// Certificate, host name or protocol version.
        case tlsFailed = "tls_failed"
        /// No complete answer before the deadline.
        case timeout = "timeout"
        /// The answer is larger than the options allow.
        case responseTooLarge = "response_too_large"
        /// The connection broke with the request under way.
        case connectionLost = "connection_lost"
        case tooManyRedirects = "too_many_redirects"
        /// What came is no HTTP.
        case malformedResponse = "malformed_response"
        /// As many requests wait as the options allow.
        case queueFull = "queue_full"
        /// The caller's task was cancelled.
        case cancelled = "cancelled"
        /// `close` was called.
        case closed = "closed"
        /// libcurl itself refused, for want of memory or of a feature.
        case libraryFailed = "library_failed"
    }

    package let code: Code
    /// For operators: names host and cause, never query, headers or body.
    package let message: String
    /// Whether the server may have acted on the request.
    package let mayHaveBeenProcessed: Bool

    package init(_ code: Code, _ message: String, mayHaveBeenProcessed: Bool = false) {
        self.code = code
        self.message = message
        self.mayHaveBeenProcessed = mayHaveBeenProcessed
    }

    static let cancelled = FetchError(.cancelled, "the caller was cancelled", mayHaveBeenProcessed: true)
    static let closed = FetchError(.closed, "the client is closed")

    package var description: String { "fetch.\(code.rawValue): \(message)" }
}
