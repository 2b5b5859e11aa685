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
