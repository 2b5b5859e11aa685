/// One place for a connection in a pool. Connections come and go in it; each has a generation of its own, so that news of
/// an older one is told apart.
struct Lane: Sendable {
    enum Phase: Sendable, Equatable {
        /// No connection; one is made when there is something to send.
        case closed
        /// A connection is being made, perhaps after a pause.
        case connecting
        /// Connected, but no answer yet proved that the provider accepts our token: one request at a time.
        case canary
        case open
    }

    var phase = Phase.closed
    var generation = 0
    var inFlight = 0
    /// SETTINGS_MAX_CONCURRENT_STREAMS of the peer.
    var peerLimit = 0
    /// Our own limit: lowered when the peer refuses streams, raised by one with every answer.
    var allowance = 0
    /// Connections in a row that failed or did not live long.
    var failures = 0
    /// Whether the newest attempt to connect failed; then another is made without waiting for a push.
    var isUnreachable = false
    /// Bytes of the bodies on streams without an answer.
    var bytes = 0
    /// When a connection that still works is replaced, so that lookups and load spread anew.
    var retireAt: ContinuousClock.Instant?
    /// Pacing: when the next push would leave if none had left early.
    var nextSendAt: ContinuousClock.Instant?
    /// Whether an answer came on this connection.
    var wasProven = false
    var connectedAt: ContinuousClock.Instant?
    var lastAnswerAt: ContinuousClock.Instant?

    /// How many more streams may be opened now.
    var room: Int {
        switch phase {
        case .closed, .connecting: 0
        case .canary: peerLimit > 0 && inFlight == 0 ? 1 : 0
        case .open: max(0, min(peerLimit, allowance) - inFlight)
        }
    }
}
