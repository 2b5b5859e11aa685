package import Kernel
import RedisClient

extension JobQueue {
    package enum RemoveResult: Sendable, Equatable {
        case removed, missing
        /// A worker holds it, or one of the children that should go with it.
        case locked
        /// It is the next run of a scheduler, which would never run again without it (-8 on the wire).
        case scheduled
    }

    package enum RetryResult: Sendable, Equatable { case waiting, missing, notFinished }
    package enum PromoteResult: Sendable, Equatable { case promoted, missing, notDelayed }
    /// The states from which jobs can run again.
    package enum FinishedState: String, Sendable { case completed, failed }

    /// How many jobs one call of a script over many handles.
    static let manyLimit = 500

    /// Removes a job unless a worker holds it. Its parent waits for it no longer.
    /// - Parameter withChildren: also its children and theirs, in all queues; refused as a whole when one is held.
    package func remove(_ id: String, withChildren: Bool = false) async throws(JobQueueError) -> RemoveResult {
        switch try await code(of: QueueScripts.remove, [.string(id), withChildren ? 1 : 0]) {
        case 1: return .removed
        case -1: return .locked
        case -8: return .scheduled
        case -12: throw JobQueueError(.tooMany, "job \(id) has more than 10,000 children")
        default: return .missing
        }
    }

    /// Lets a finished job run again. It goes to the end of the line, or waits for children that are open, and its parent
    /// waits for it again.
    /// - Parameters:
    ///   - resetAttempts: forget the attempts made, so that all of them are there again. Without it a job that used them up
    ///     gets one more.
    ///   - resetStarts: forget how often it was taken and lost its worker.
    package func retry(
        _ id: String,
        resetAttempts: Bool = false,
        resetStarts: Bool = false
    ) async throws(JobQueueError) -> RetryResult {
        let code = try await code(
            of: QueueScripts.retry,
            [.string(id), resetAttempts ? 1 : 0, resetStarts ? 1 : 0]
        )
        return code == 1 ? .waiting : code == -3 ? .notFinished : .missing
    }

    /// Lets all jobs run again that ended in this state, the oldest first, 500 in one step.
    /// - Parameters:
    ///   - before: only those that ended until then; now when not given, so that jobs that fail again meanwhile stay.
    ///   - limit: at most so many.
    /// - Returns: how many.
    package func retryAll(
        _ state: FinishedState,
        before: Timestamp? = nil,
        resetAttempts: Bool = false,
        limit: Int = .max
    ) async throws(JobQueueError) -> Int {
        let moment = before ?? connection.clock.now
        var total = 0
        while total < limit {
            let count = try await code(
                of: QueueScripts.retryMany,
                [
                    .string(state.rawValue), .integer(moment.milliseconds), .init(min(Self.manyLimit, limit - total)),
                    resetAttempts ? 1 : 0,
                ]
            )
            guard count > 0 else { break }
            total += count
        }
        return total
    }

    /// Makes a delayed job ready before its time.
    package func promote(_ id: String) async throws(JobQueueError) -> PromoteResult {
        let code = try await code(of: QueueScripts.promote, [.string(id), 1])
        return code == 1 ? .promoted : code == -3 ? .notDelayed : .missing
    }

    /// Makes the delayed jobs that are there now ready, the next ones first, 500 in one step.
    /// - Returns: how many.
    package func promoteAll(limit: Int = .max) async throws(JobQueueError) -> Int {
        let limit = min(limit, try await integer(["ZCARD", key("delayed")]))
        var total = 0
        while total < limit {
            let count = try await code(of: QueueScripts.promote, ["", .init(min(Self.manyLimit, limit - total))])
            guard count > 0 else { break }
            total += count
        }
        return total
    }

    /// Gives a job another priority: 1 to 2,097,151, or 0 for none.
    /// - Parameter asNext: before the others of its new class instead of behind them.
    /// - Returns: whether there is such a job.
    package func changePriority(
        _ id: String,
        to priority: Int,
        asNext: Bool = false
    ) async throws(JobQueueError) -> Bool {
        guard (0...2_097_151).contains(priority) else {
            throw JobQueueError(.invalidPriority, "a priority is 1 to 2097151, or 0 for none")
        }
        return try await code(of: QueueScripts.changePriority, [.string(id), .init(priority), asNext ? 1 : 0]) == 1
    }

    /// Replaces a job's data.
    /// - Returns: whether there is such a job.
    package func updateData(_ id: String, _ json: String) async throws(JobQueueError) -> Bool {
        try Self.checkJSON(json, limit: 16 << 20)
        return try await code(of: QueueScripts.update, [.string(id), "data", .string(json)]) == 1
    }

    /// Tells how far a job is, as one JSON text of at most 64 KiB: a number or anything else. Dashboards read it unguarded,
    /// so other text is refused.
    /// - Returns: whether there is such a job.
    package func updateProgress(_ id: String, _ json: String) async throws(JobQueueError) -> Bool {
        try Self.checkJSON(json, limit: 64 << 10)
        return try await code(of: QueueScripts.update, [.string(id), "progress", .string(json)]) == 1
    }

    /// Adds a row to a job's log.
    /// - Parameter keep: how many rows stay; as the job's own options say when not given.
    /// - Returns: how many rows there are, `nil` when there is no such job.
    package func log(_ id: String, _ row: String, keep: Int? = nil) async throws(JobQueueError) -> Int? {
        let rows = try await code(
            of: QueueScripts.update,
            [.string(id), "log", .string(row), keep.map { .init($0) } ?? ""]
        )
        return rows < 0 ? nil : rows
    }

    private static func checkJSON(_ text: String, limit: Int) throws(JobQueueError) {
        guard text.utf8.count <= limit else { throw JobQueueError(.tooMany, "the text has more than \(limit) bytes") }
        do throws(JSONError) {
            _ = try JSONValue(parsing: text)
        } catch {
            throw JobQueueError(.invalidJSON, "\(error)")
        }
    }
}
