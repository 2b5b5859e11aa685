/// Keeps callers from waiting for a server that has just failed several times in a row.
///
/// Closed: every call goes. After `threshold` failures in a row it opens: no call goes for `pause`. Then one call may try
/// (half-open), and its outcome closes the breaker or opens it again.
struct CircuitBreaker: Sendable {
    private enum State {
        case closed(failures: Int)
        case open(until: ContinuousClock.Instant)
        /// One call is trying; should it never report, another may try after this moment.
        case halfOpen(until: ContinuousClock.Instant)
    }

    let threshold: Int
    let pause: Duration
    private var state = State.closed(failures: 0)

    init(threshold: Int, pause: Duration) {
        self.threshold = threshold
        self.pause = pause
    }

    /// Whether calls are being held back.
    var isOpen: Bool {
        if case .closed = state { false } else { true }
    }

    /// Whether a call may go now. One that goes must report with `succeeded` or `failed`.
    mutating func allows(at now: ContinuousClock.Instant) -> Bool {
        switch state {
        case .closed: return true
        case .open(let until), .halfOpen(let until):
            guard now >= until else { return false }
            state = .halfOpen(until: now + pause)
            return true
        }
    }

    mutating func succeeded() {
        state = .closed(failures: 0)
    }

    mutating func failed(at now: ContinuousClock.Instant) {
        if case .closed(let failures) = state, failures + 1 < threshold {
            state = .closed(failures: failures + 1)
        } else {
            state = .open(until: now + pause)
        }
    }
}
