package import Kernel

/// What the fields mean. Fields of foreign clients that cannot be read count as missing.
extension StoredJob {
    package var name: String { fields["name"] ?? "" }
    /// JSON text.
    package var data: String { fields["data"] ?? "{}" }
    package var options: JSONValue { json("opts") ?? .object([]) }
    package var timestamp: Timestamp? { time("timestamp") }
    /// When it was last taken.
    package var processedOn: Timestamp? { time("processedOn") }
    package var finishedOn: Timestamp? { time("finishedOn") }
    /// Which worker took it last.
    package var processedBy: String? { fields["pb"] }
    package var priority: Int { integer("priority") ?? 0 }
    package var delay: Duration { .milliseconds(integer("delay") ?? 0) }
    package var attemptsMade: Int { integer("atm") ?? integer("attemptsMade") ?? 0 }
    package var attemptsStarted: Int { integer("ats") ?? 0 }
    package var stalledCount: Int { integer("stc") ?? 0 }
    package var progress: JSONValue? { json("progress") }
    package var returnvalue: JSONValue? { json("returnvalue") }
    /// Plain text. It stays when a later attempt succeeds.
    package var failedReason: String? { fields["failedReason"] }
    /// Oldest first.
    package var stacktrace: [String] { json("stacktrace")?.arrayValue?.compactMap(\.stringValue) ?? [] }
    package var parentKey: String? { fields["parentKey"] }
    package var deduplicationID: String? { fields["deid"] }
    /// The scheduler whose run it is.
    package var schedulerID: String? { fields["rjk"] }
    /// Why the next worker will fail it without running it.
    package var deferredFailure: String? { fields["defa"] }

    private func integer(_ name: String) -> Int? { fields[name].flatMap { Int($0) } }

    private func time(_ name: String) -> Timestamp? {
        fields[name].flatMap { Int64($0) }.map { Timestamp(milliseconds: $0) }
    }

    private func json(_ name: String) -> JSONValue? { fields[name].flatMap { try? JSONValue(parsing: $0) } }
}
