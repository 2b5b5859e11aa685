package import Kernel

/// Something that happened in a queue, as its stream `events` tells it.
package struct QueueEvent: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        case added, waiting, delayed, active, progress, completed, failed, stalled, drained, duplicated, deduplicated
        case removed, cleaned, paused, resumed
        case waitingChildren = "waiting-children"
        case retriesExhausted = "retries-exhausted"
        /// Something newer clients write.
        case other
    }

    /// Its place in the stream.
    package let position: String
    package let kind: Kind
    /// The fields under BullMQ's names, `event` included.
    package let fields: [String: String]

    init(position: String, fields: [String: String]) {
        self.position = position
        self.fields = fields
        kind = fields["event"].flatMap(Kind.init) ?? .other
    }

    package var jobID: String? { fields["jobId"] }
    /// The state the job came from.
    package var previous: String? { fields["prev"] }
    /// Of `completed`.
    package var returnvalue: JSONValue? { fields["returnvalue"].flatMap { try? JSONValue(parsing: $0) } }
    /// Of `failed`.
    package var failedReason: String? { fields["failedReason"] }
    /// Of `progress`.
    package var progress: JSONValue? { fields["data"].flatMap { try? JSONValue(parsing: $0) } }
    /// Of `delayed`: when the job is due. The field is called `delay` and holds a moment.
    package var due: Timestamp? {
        kind == .delayed ? fields["delay"].flatMap { Int64($0) }.map { Timestamp(milliseconds: $0) } : nil
    }
}
