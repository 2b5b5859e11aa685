import Kernel
import Observability
import RedisClient
import Synchronization

extension JobWorker {
    /// Tells Redis how jobs ended, in groups, until the pool is closed and empty.
    func releaseLoop() async {
        // When the first of the group was seen that waits now.
        var since: ContinuousClock.Instant?
        while true {
            let isLate = since.map { ContinuousClock.now >= $0 + options.gatherTime } ?? false
            switch pool.gather(evenFew: isLate, upTo: JobConsumer.groupLimit) {
            case .none:
                since = nil
                await pool.endedAlarm.wait(until: nil)
            case .some:
                let start = since ?? .now
                since = start
                await pool.endedAlarm.wait(until: start + options.gatherTime)
            case .batch(let jobs):
                since = nil
                await release(jobs)
                pool.left()
            case .over: return
            }
        }
    }

    /// Ends each job but those whose lock was lost: another worker may hold them.
    private func release(_ jobs: [EndedJob]) async {
        var finished: [FinishedJob] = []
        var moved: [MovedJob] = []
        finished.reserveCapacity(jobs.count)
        for ended in jobs where !ended.held.isLost {
            let locked = ended.held.job.locked
            switch ended.ending {
            case .finished(let result): finished.append(FinishedJob(locked, result))
            case .moved(let target, let reason, let trace):
                moved.append(MovedJob(locked, to: target, failedReason: reason, trace: trace))
            }
        }
        await persist(finished, id: \.job.id) { jobs throws(JobQueueError) in try await self.consumer.finish(jobs) }
        await persist(moved, id: \.job.id) { jobs throws(JobQueueError) in try await self.consumer.move(jobs) }
    }

    /// Calls until Redis took the group. A group that Redis refuses is taken apart, so that one job it cannot end does not
    /// hold up the others.
    private func persist<Job: Sendable>(
        _ jobs: [Job],
        id: (Job) -> String,
        _ call: ([Job]) async throws(JobQueueError) -> [ReleaseResult]
    ) async {
        guard !jobs.isEmpty else { return }
        var failures = 0
        while true {
            do throws(JobQueueError) {
                _ = try await call(jobs)
                return
            } catch {
                metrics.releaseErrors.increment()
                if failures == 0 { logger.warning("ending jobs failed", ["error": .error(error)]) }
                failures += 1
                if !error.mayPass {
                    if jobs.count > 1 {
                        for job in jobs { await persist([job], id: id, call) }
                    } else {
                        abandon(jobs, id: id, error)
                    }
                    return
                }
                if let deadline = releaseDeadline.withLock({ $0 }), ContinuousClock.now > deadline {
                    return abandon(jobs, id: id, error)
                }
                await pause(.milliseconds(min(20 << min(failures, 4), 300)))
            }
        }
    }

    private func abandon<Job>(_ jobs: [Job], id: (Job) -> String, _ error: JobQueueError) {
        metrics.abandoned.increment(by: jobs.count)
        logger.error(
            "the end of jobs could not be recorded, they come back when their locks lapse",
            ["jobs": .integer(jobs.count), "first": .string(jobs.first.map(id) ?? ""), "error": .error(error)]
        )
    }

    private func pause(_ duration: Duration) async {
        await executor.makeAlarm().wait(until: .now + duration)
    }
}

extension JobQueueError {
    /// Whether the same call may well succeed later: the server is away or does not take writes at the moment.
    fileprivate var mayPass: Bool {
        guard let underlying else { return false }
        switch underlying.code {
        case .notConnected, .connectionLost, .timeout, .overloaded: return true
        case .server:
            return [
                "OOM", "LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY", "NOREPLICAS", "MISCONF",
            ].contains(underlying.serverCode)
        case .invalidURL, .unexpectedReply, .closed, .unfitServer: return false
        }
    }
}
