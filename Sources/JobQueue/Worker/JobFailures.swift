package import Kernel

/// What a handler throws when another attempt would be of no use: the job fails for good.
package struct UnrecoverableFailure: Error, CustomStringConvertible {
    /// For people, as plain text. It becomes the job's `failedReason`.
    package let reason: String

    package init(_ reason: String) {
        self.reason = reason
    }

    package var description: String { reason }
}

/// What a handler throws when its job shall run later without this attempt being counted.
package struct DelayedJob: Error, CustomStringConvertible {
    package let until: Timestamp

    package init(until: Timestamp) {
        self.until = until
    }

    package var description: String { "delayed until \(until.milliseconds)" }
}

/// What a handler throws when the service it asks wants no more calls for a while: its job waits again as next in line, the attempt
/// is not counted, and no worker starts a job of the queue for that long.
///
/// As in BullMQ, workers heed it only where a rate limit is set, on the queue or on them.
package struct RateLimitedJob: Error, CustomStringConvertible {
    package let duration: Duration

    package init(for duration: Duration) {
        self.duration = duration
    }

    package var description: String { "rate limited for \(duration.milliseconds) ms" }
}
