import Kernel
import Observability
import RedisClient

extension JobConsumer {
    /// Ends jobs. Each is checked on its own: one whose lock is lost is left alone.
    ///
    /// A job cannot be completed while children that it added itself are open, or after one failed that fails its parent: it
    /// ends as failed then, with that reason.
    package func finish(_ jobs: [FinishedJob]) async throws(JobQueueError) -> [ReleaseResult] {
        var results: [ReleaseResult] = []
        for start in stride(from: 0, to: jobs.count, by: Self.groupLimit) {
            results += try await finishGroup(jobs[start..<min(start + Self.groupLimit, jobs.count)])
        }
        return results
    }

    private func finishGroup(_ group: ArraySlice<FinishedJob>) async throws(JobQueueError) -> [ReleaseResult] {
        let refusals = try await connection.run(QueueScripts.finish, finishArguments(group)).reading(Self.refusals)
        var results = [ReleaseResult](repeating: .done, count: group.count)
        var withChildren: [Int] = []
        for (position, code) in refusals where results.indices.contains(position) {
            switch code {
            case -4, -9: withChildren.append(position)
            default: results[position] = ReleaseResult(code: code)
            }
        }
        for (position, finished) in group.enumerated() where results[position] == .done {
            switch finished.result {
            case .completed: if !withChildren.contains(position) { metrics.completed.increment() }
            case .failed: metrics.failed.increment()
            }
        }
        metrics.locksLost.increment(by: results.count { $0 == .lockLost || $0 == .notLocked })
        guard !withChildren.isEmpty else { return results }
        let failed = withChildren.map { position in
            FinishedJob(group[group.startIndex + position].job, .failed(reason: Self.childrenReason))
        }
        for (position, result) in zip(withChildren, try await finishGroup(failed[...])) { results[position] = result }
        return results
    }

    private static let childrenReason = "the job cannot be completed: children of it are open or have failed"

    private func finishArguments(_ group: ArraySlice<FinishedJob>) -> [RedisArgument] {
        var arguments: [RedisArgument] = [
            .init(options.keptCompleted), .integer(options.completedAge.milliseconds / 1000),
            .init(options.keptFailed), .integer(options.failedAge.milliseconds / 1000),
            .init(options.metricsMinutes), .init(group.count),
        ]
        arguments.reserveCapacity(6 + group.count * 5)
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
        return arguments
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
                case .retry: arguments += ["again", 1]
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
                case .retry: metrics.retried.increment()
                case .waiting: metrics.givenBack.increment()
                }
            }
            results += codes
        }
        return results
    }

    /// Position and code of the jobs that were not ended.
    private static func refusals(_ reply: RedisReply) throws(RedisError) -> [(position: Int, code: Int)] {
        let parts = try reply.requireArray("finish")
        var refusals: [(position: Int, code: Int)] = []
        for index in stride(from: 0, to: parts.count - 1, by: 2) {
            refusals.append((try parts[index].requireInt("finish") - 1, try parts[index + 1].requireInt("finish")))
        }
        return refusals
    }

    private func releaseResults(_ reply: RedisReply) throws(JobQueueError) -> [ReleaseResult] {
        let results = try reply.reading { reply throws(RedisError) in
            var results: [ReleaseResult] = []
            for code in try reply.requireArray("release") {
                results.append(ReleaseResult(code: try code.requireInt("release")))
            }
            return results
        }
        metrics.locksLost.increment(by: results.count { $0 == .lockLost || $0 == .notLocked })
        return results
    }
}

extension ReleaseResult {
    /// Reads a code of finish.lua or move.lua.
    fileprivate init(code: Int) {
        switch code {
        case 0: self = .done
        case -1: self = .missing
        case -2: self = .notLocked
        // The lock of another, or not active.
        default: self = .lockLost
        }
    }
}

extension String {
    /// The text without what goes beyond a number of bytes, cut between characters.
    func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: limit)
        while end > startIndex, end.samePosition(in: self) == nil { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
