import Synchronization

/// Waits until something happened a number of times.
final class Countdown: Sendable {
    private let left: Atomic<Int>
    private let waiting = Mutex<CheckedContinuation<Void, Never>?>(nil)

    init(_ count: Int) {
        left = Atomic(count)
    }

    func count() {
        guard left.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
        waiting.withLock { waiting in
            waiting?.resume()
            waiting = nil
        }
    }

    /// For one caller.
    func wait() async {
        await withCheckedContinuation { continuation in
            waiting.withLock { waiting in
                if left.load(ordering: .acquiring) <= 0 { continuation.resume() } else { waiting = continuation }
            }
        }
    }
}

/// Hands the moments of arrivals to one waiting task.
final class Meeting: Sendable {
    private let stream: AsyncStream<ContinuousClock.Instant>
    private let source: AsyncStream<ContinuousClock.Instant>.Continuation

    init() {
        (stream, source) = AsyncStream.makeStream()
    }

    func arrive() { source.yield(.now) }

    func next() async -> ContinuousClock.Instant {
        for await moment in stream { return moment }
        return .now
    }
}
