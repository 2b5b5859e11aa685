/// Why a connection or a request failed, and what that means for sending it again.
package struct HTTP2Error: Error, CustomStringConvertible, Equatable {
    /// What went wrong; the raw value is a metric label.
    package enum Code: String, Sendable, CaseIterable {
        /// No address answered in time, or the name has none.
        case connectFailed = "connect_failed"
        /// The TLS handshake failed: certificate, host name, protocol version or client certificate.
        case tlsFailed = "tls_failed"
        /// The peer did not choose `h2`; there is no fallback to HTTP/1.1.
        case alpnMissing = "alpn_missing"
        /// The request cannot be expressed in HTTP/2: a bad header name or value.
        case invalidRequest = "invalid_request"
        /// The peer refused the stream before looking at it (REFUSED_STREAM).
        case refusedStream = "refused_stream"
        /// The peer is going away and says that it did not look at this stream.
        case goAwayNotProcessed = "go_away_not_processed"
        /// The connection broke, or was declared dead, with the request under way.
        case connectionLost = "connection_lost"
        /// The peer ended the stream with another error code.
        case streamReset = "stream_reset"
        /// The answer broke HTTP: no status, or it ended early.
        case malformedResponse = "malformed_response"
        /// No complete answer before the deadline; the stream was reset.
        case timeout = "timeout"
        /// The caller gave up; the stream was reset.
        case cancelled = "cancelled"
        /// The connection is closing or closed and takes no requests.
        case closing = "closing"
        /// As many streams are open as the peer or the options allow.
        case tooManyStreams = "too_many_streams"
        /// Too many bytes wait to be sent.
        case queueFull = "queue_full"
        /// The answer's headers or body are larger than the options allow; the stream was reset.
        case responseTooLarge = "response_too_large"
    }

    /// Whether the peer may have acted on the request.
    package enum ProcessedState: Sendable {
        /// It certainly has not: sending again cannot make a duplicate.
        case no
        /// Nobody can tell.
        case unknown
    }

    package let code: Code
    /// For operators: never contains header values or bodies of the request.
    package let message: String
    package let wasProcessed: ProcessedState
    /// The HTTP/2 error code of a reset stream (RFC 9113, 7).
    package let resetCode: UInt32?

    package init(_ code: Code, _ message: String, wasProcessed: ProcessedState = .no, resetCode: UInt32? = nil) {
        self.code = code
        self.message = message
        self.wasProcessed = wasProcessed
        self.resetCode = resetCode
    }

    package var description: String {
        "http2.\(code.rawValue): \(message)\(wasProcessed == .unknown ? " (may have been processed)" : "")"
    }
}
