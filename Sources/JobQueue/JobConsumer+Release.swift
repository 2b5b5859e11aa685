import Kernel
import Observability
import RedisClient

extension JobConsumer {
    /// Ends jobs. Each is checked on its own: one whose lock is lost is left alone.
    package func finish(_ jobs: [FinishedJob]) async throws(JobQueueError) -> [ReleaseResult] {
        var results: [ReleaseResult] = []
        for start in stride(from: 0, to: jobs.count, by: Self.groupLimit) {
            let group = jobs[start..<min(start + Self.groupLimit, jobs.count)]
            var arguments: [RedisArgument] = [
                .init(options.keptCompleted), .integer(options.completedAge.milliseconds / 1000),
                .init(options.keptFailed), .integer(options.failedAge.milliseconds / 1000), .init(group.count),
            ]
            arguments.reserveCapacity(5 + group.count * 5)
            for finished in group {
                arguments.append(.string(finished.job.id))
                arguments.append(.string(finished.job.token))
                switch finished.result {
                case .completed(let returnvalue):
                    arguments.append("completed")
                    arguments.append(.string(returnvalue))
                    arguments.append("")
                case .failed(let reason, let trace):
                    arguments.append("failed")
                    arguments.append(.string(reason.cut(toBytes: 4096)))
                    arguments.append(.string(trace?.cut(toBytes: 4096) ?? ""))
                }
            }
            let codes = try releaseResults(try await connection.run(QueueScripts.finish, arguments))
            for (finished, result) in zip(group, codes) where result == .done {
                switch finished.result {
                case .completed: metrics.completed.increment()
                case .failed: metrics.failed.increment()
                }
            }
            results += codes
        }
        return results
    }

    /// Lets jobs run later or elsewhere. Each is checked on its own: one whose lock is lost is left alone.
    package func move(_ jobs: [MovedJob]) async throws(JobQueueError) -> [ReleaseResult] {
        var results: [ReleaseResult] = []
        for start in stride(from: 0, to: jobs.count, by: Self.groupLimit) {
            let group = jobs[start..<min(start + Self.groupLimit, jobs.count)]
            var arguments: [RedisArgument] = [.init(group.count)]
            for moved in group {
                arguments += [.string(moved.job.id), .string(moved.job.token)]
                switch moved.target {
                case .delayed(let until, let skipAttempt):
                    let due = min(max(until.milliseconds, 0), JobOptions.lastDueTime)
                    arguments += [.integer(due), skipAttempt ? 0 : 1]
                case .waiting: arguments += ["", 0]
                }
                arguments += [
                    .string(moved.failedReason?.cut(toBytes: 4096) ?? ""),
                    .string(moved.trace?.cut(toBytes: 4096) ?? ""),
                ]
            }
            let codes = try releaseResults(try await connection.run(QueueScripts.move, arguments))
            for (moved, result) in zip(group, codes) where result == .done {
                switch moved.target {
                case .delayed: metrics.delayed.increment()
                case .waiting: metrics.givenBack.increment()
                }
            }
            results += codes
        }
        return results
    }

    private func releaseResults(_ reply: RedisReply) throws(JobQueueError) -> [ReleaseResult] {
        let results = try reply.reading { reply throws(RedisError) in
            var results: [ReleaseResult] = []
            for code in try reply.requireArray("release") {
                switch try code.requireInt("release") {
                case 0: results.append(.done)
                case -1: results.append(.missing)
                // No lock, the lock of another, or not active: in each case the job is not ours any more.
                default: results.append(.lockLost)
                }
            }
            return results
        }
        metrics.locksLost.increment(by: results.count { $0 == .lockLost })
        return results
    }
}

extension String {
    /// The text without what goes beyond a number of bytes, cut between characters.
    fileprivate func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: limit)
        while end > startIndex, end.samePosition(in: self) == nil { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
