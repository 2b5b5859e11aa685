import Kernel
import Observability
import RedisClient

extension JobQueue {
    /// The states whose jobs `clean` removes.
    package enum CleanableState: String, Sendable, CaseIterable {
        case completed, failed, wait, paused, active, prioritized, delayed
        case waitingChildren = "waiting-children"
    }

    /// How many finished jobs of one kind are kept.
    package struct Kept: Sendable, Equatable {
        /// -1 for all.
        package var count: Int
        /// Zero for any age.
        package var age: Duration

        package init(count: Int, age: Duration) {
            self.count = count
            self.age = age
        }
    }

    /// Removes the jobs that wait to be taken, in steps of 500, but for the next run of each scheduler.
    /// - Parameter delayed: also those that are not due yet.
    /// - Returns: how many.
    @discardableResult
    package func drain(delayed: Bool = false) async throws(JobQueueError) -> Int {
        var total = 0
        for state in ["wait", "paused", "prioritized"] + (delayed ? ["delayed"] : []) {
            var aside = 0
            while true {
                let (removed, seen) = try await pair(
                    of: QueueScripts.drain,
                    [.string(state), .init(aside), .init(Self.manyLimit)]
                )
                total += removed
                aside += seen - removed
                if seen < Self.manyLimit { break }
            }
        }
        return total
    }

    /// Removes jobs of one state that are older than `grace`, in steps of 500: finished ones by their end, others by when
    /// they were made; active ones only when nobody holds them.
    /// - Parameter limit: at most so many; 0 for all.
    /// - Returns: how many.
    @discardableResult
    package func clean(
        _ state: CleanableState,
        grace: Duration,
        limit: Int = 0
    ) async throws(JobQueueError) -> Int {
        let moment = connection.clock.now - grace
        let limit = limit <= 0 ? Int.max : limit
        var total = 0
        var aside = 0
        while total < limit {
            let (removed, seen) = try await pair(
                of: QueueScripts.clean,
                [
                    .string(state.rawValue), .integer(moment.milliseconds), .init(aside), .init(Self.manyLimit),
                    .init(min(limit - total, Self.manyLimit)),
                ]
            )
            total += removed
            aside += seen - removed
            if seen < Self.manyLimit { break }
        }
        return total
    }

    /// Deletes the queue with everything in it, 500 jobs in one step. It must be paused.
    /// - Parameter force: also while jobs are active; their workers will find their locks gone.
    /// - Throws: `notPaused` or `jobsActive`; then nothing was deleted.
    package func obliterate(force: Bool = false) async throws(JobQueueError) {
        while true {
            switch try await code(of: QueueScripts.obliterate, [force ? 1 : 0, .init(Self.manyLimit)]) {
            case 0: return
            case -1: throw JobQueueError(.notPaused, "pause \(name) before it is obliterated")
            case -2: throw JobQueueError(.jobsActive, "\(name) has active jobs")
            default: continue
            }
        }
    }

    /// Removes finished jobs beyond what is kept, in steps of 500 and at most 10,000 of each kind: what a job's end does for
    /// the whole set, for queues where no job ends any more.
    /// - Returns: how many.
    @discardableResult
    package func sweep(completed: Kept, failed: Kept) async throws(JobQueueError) -> Int {
        var total = 0
        for (state, kept) in [("completed", completed), ("failed", failed)] {
            for _ in 0..<20 {
                let removed = try await code(
                    of: QueueScripts.sweep,
                    [
                        .string(state), .init(kept.count), .integer(kept.age.milliseconds / 1000),
                        .init(Self.manyLimit),
                    ]
                )
                total += removed
                if removed < Self.manyLimit { break }
            }
        }
        metrics.swept.increment(by: total)
        return total
    }

    private func pair(
        of script: RedisScript,
        _ arguments: [RedisArgument]
    ) async throws(JobQueueError) -> (removed: Int, seen: Int) {
        try await connection.run(script, arguments).reading { reply throws(RedisError) in
            let parts = try reply.requireArray("pair")
            guard parts.count == 2 else { throw RedisError(.unexpectedReply, "pair: two numbers are expected") }
            return (try parts[0].requireInt("pair"), try parts[1].requireInt("pair"))
        }
    }
}
