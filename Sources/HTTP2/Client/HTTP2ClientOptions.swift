/// Limits and times of a client connection.
package struct HTTP2ClientOptions: Sendable {
    /// From looking up the name to the peer's first SETTINGS.
    package var connectTimeout: Duration = .seconds(10)
    /// Streams open at once, where the peer allows more or sets no limit.
    package var maxConcurrentStreams = 2_000
    /// Bytes of requests that may wait to be sent.
    package var maxQueuedBytes = 16 * 1024 * 1024
    /// The largest body of an answer, in bytes.
    package var maxResponseBody = 256 * 1024
    /// The largest header section of an answer, counted as RFC 9113, 6.5.2 does.
    package var maxResponseHeaders = 16 * 1024
    /// The lower-case names of the answer's headers that are of interest; the others are counted and thrown away. `nil` keeps
    /// all.
    package var keptHeaders: [String]?
    /// Silence of the peer while an answer is awaited, after which it is asked for a sign of life.
    package var stallAfter: Duration = .seconds(15)
    /// How long that sign of life may take before the connection is declared dead.
    package var stallPingTimeout: Duration = .seconds(5)
    /// How long the peer may leave every open request unanswered, PINGs answered or not, before the connection is given up;
    /// `nil` for as long as the requests' own deadlines allow.
    package var answerAfter: Duration?
    /// Silence on an idle connection after which a PING checks it; Apple suggests about an hour.
    package var idlePingAfter: Duration = .seconds(3_600)
    /// Asked before each look-up for the name or address to look up instead of the host, whose certificate is still wanted; `nil` for
    /// the host itself.
    package var lookUpName: (@Sendable (_ host: String) -> String)?

    package init() {}
}
