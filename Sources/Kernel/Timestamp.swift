/// A point in wall time: whole milliseconds since 1970-01-01T00:00:00Z.
///
/// Times are stored and compared as integers, because a fractional `Double` prints one millisecond short now and then.
package struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since the Unix epoch.
    package let milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// Whole seconds since the Unix epoch, rounded down.
    package var seconds: Int64 {
        milliseconds >= 0 ? milliseconds / 1000 : (milliseconds - 999) / 1000
    }

    package static func < (lhs: Timestamp, rhs: Timestamp) -> Bool { lhs.milliseconds < rhs.milliseconds }

    package static func + (lhs: Timestamp, rhs: Duration) -> Timestamp {
        Timestamp(milliseconds: lhs.milliseconds + rhs.milliseconds)
    }

    package static func - (lhs: Timestamp, rhs: Duration) -> Timestamp {
        Timestamp(milliseconds: lhs.milliseconds - rhs.milliseconds)
    }

    package static func - (lhs: Timestamp, rhs: Timestamp) -> Duration {
        .milliseconds(lhs.milliseconds - rhs.milliseconds)
    }
}

extension Duration {
    /// The duration in whole milliseconds, rounded towards zero.
    package var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }

    /// The duration in whole microseconds, rounded towards zero.
    package var microseconds: Int64 {
        components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
    }

    /// The duration in seconds, for metrics.
    package var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
