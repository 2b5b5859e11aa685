import Glibc
import Synchronization

/// Tells wall time, for whatever is stored or shown. Waits and deadlines use a monotonic `Clock` instead.
package protocol WallClock: Sendable {
    /// The present moment.
    var now: Timestamp { get }
}

/// The machine's own wall clock.
package struct SystemWallClock: WallClock {
    package init() {}

    package var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}

/// A wall clock that stands still until it is set: for tests and for replaying a moment.
package final class FixedWallClock: WallClock {
    private let current: Mutex<Timestamp>

    package init(_ start: Timestamp) {
        current = Mutex(start)
    }

    package var now: Timestamp { current.withLock { $0 } }

    /// Moves the clock by a duration, which may be negative.
    package func advance(by duration: Duration) {
        current.withLock { $0 = $0 + duration }
    }
}
