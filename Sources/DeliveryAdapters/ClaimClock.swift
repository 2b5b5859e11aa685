import Synchronization

/// When a claim was last answered. A worker whose claims go unanswered is not ready, however well its connection pings.
package final class ClaimClock: Sendable {
    private let last = Mutex<ContinuousClock.Instant>(.now)

    package init() {}

    package func answered() {
        last.withLock { $0 = .now }
    }

    /// How long ago a claim was answered, an empty answer included.
    package var age: Duration {
        last.withLock { $0 }.duration(to: .now)
    }
}
