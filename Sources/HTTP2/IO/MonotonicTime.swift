import Glibc
import Kernel

/// A moment of the machine's monotonic clock, in nanoseconds; only differences have a meaning.
struct MonotonicTime: Sendable, Comparable, Hashable {
    var nanoseconds: Int64

    /// The present moment.
    static var now: MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    static func < (lhs: MonotonicTime, rhs: MonotonicTime) -> Bool { lhs.nanoseconds < rhs.nanoseconds }

    /// A later moment. Durations beyond a century count as one, so that the sum cannot overflow.
    static func + (lhs: MonotonicTime, rhs: Duration) -> MonotonicTime {
        let (seconds, attoseconds) = rhs.components
        let nanoseconds = min(seconds, 3_000_000_000) * 1_000_000_000 + attoseconds / 1_000_000_000
        return MonotonicTime(nanoseconds: lhs.nanoseconds + nanoseconds)
    }

    /// Milliseconds from now until this moment for `poll`, rounded up, 0 when it has passed, at most one minute.
    func pollTimeout(now: MonotonicTime) -> Int32 {
        let left = nanoseconds - now.nanoseconds
        guard left > 0 else { return 0 }
        return Int32(min((left + 999_999) / 1_000_000, 60_000))
    }
}
