import Kernel

/// One scripted fault: which pushes it strikes and what it does to them. Only pushes that would be accepted are struck.
package struct FaultRule: Sendable, Equatable {
    /// What happens to a struck push.
    package enum Action: Sendable, Equatable {
        /// Accepts it; only the delay counts.
        case accept
        /// Refuses it. `timestamp` (ms since 1970) goes into the body, `retryAfter` (seconds) into a header.
        case refuse(status: Int, reason: String, timestamp: Int64?, retryAfter: Int?)
        /// Never answers.
        case hang
        /// Breaks off the TCP connection.
        case drop
        /// Ends the stream with an HTTP/2 error code; 7 is REFUSED_STREAM.
        case reset(errorCode: UInt32)
        /// Says GOAWAY with a reason. The streams up to `lastStreamID` (`nil`: the last one seen) are served.
        case goAway(lastStreamID: Int32?, errorCode: UInt32, reason: String?)
    }

    package var action: Action
    /// Only pushes to this device token.
    package var token: String?
    /// Only pushes to device tokens that begin so.
    package var tokenPrefix: String?
    /// Only this many pushes, then the rule is spent.
    package var remaining: Int?
    /// Only this share of the pushes, 0 to 1, evenly spread.
    package var fraction: Double?
    /// How long to wait before acting.
    package var delay: Duration
    /// Whether a push that is hung or dropped counts as accepted, as when an answer is lost on its way.
    package var countsAsAccepted: Bool
    /// Sets the connection's stream limit as well.
    package var streamLimit: Int?

    package init(
        _ action: Action,
        token: String? = nil,
        tokenPrefix: String? = nil,
        remaining: Int? = nil,
        fraction: Double? = nil,
        delay: Duration = .zero,
        countsAsAccepted: Bool = true,
        streamLimit: Int? = nil
    ) {
        self.action = action
        self.token = token
        self.tokenPrefix = tokenPrefix
        self.remaining = remaining
        self.fraction = fraction
        self.delay = delay
        self.countsAsAccepted = countsAsAccepted
        self.streamLimit = streamLimit
    }
}
