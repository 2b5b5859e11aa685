import Kernel
import Synchronization

/// Holds back claiming while the store is away: after each failed group a longer pause, until one group succeeds.
///
/// Without it a worker would move the whole backlog to later, group by group.
final class OutageGate: Sendable {
    private struct State {
        var failures = 0
        var until: ContinuousClock.Instant?
    }

    private static let backoff = Backoff(base: .seconds(2), limit: .seconds(60))
    private let state = Mutex(State())

    /// How long to wait before the next claim, `nil` for not at all.
    var pause: Duration? {
        let until = state.withLock { $0.until }
        guard let until else { return nil }
        let rest = ContinuousClock.now.duration(to: until)
        // Short steps, so that a stop is heard.
        return rest > .zero ? min(rest, .milliseconds(250)) : nil
    }

    /// Notes a failed group.
    /// - Returns: how long its jobs should stay away.
    func failed() -> Duration {
        var generator = SystemRandomNumberGenerator()
        return state.withLock { state in
            let pause = max(.seconds(1), Self.backoff.delay(attempt: state.failures, using: &generator))
            state.failures = min(state.failures + 1, 16)
            state.until = .now + pause
            return pause
        }
    }

    func succeeded() {
        state.withLock { $0 = State() }
    }
}
