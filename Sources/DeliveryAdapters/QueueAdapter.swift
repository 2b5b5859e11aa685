package import DeliveryEngine
package import JobQueue
package import Kernel
import Observability

/// The engine's queue port over a BullMQ queue.
package struct QueueAdapter: JobLeasing {
    private let consumer: JobConsumer
    private let claims: ClaimClock

    /// - Parameter claims: told of every claim that was answered, which is what liveness is judged by.
    package init(consumer: JobConsumer, claims: ClaimClock) {
        self.consumer = consumer
        self.claims = claims
    }

    package func claim(limit: Int, prioritizedLimit: Int) async throws -> LeasedGroup {
        let result = try await consumer.claim(limit: limit, prioritizedLimit: prioritizedLimit)
        claims.answered()
        if result.jobs.isEmpty, result.isPaused || result.limitedFor != nil {
            // Nothing is handed out for a while; the marker may still call, so the wait must not depend on it.
            try await Task.sleep(for: min(result.limitedFor ?? .seconds(1), .seconds(1)))
        }
        return LeasedGroup(jobs: result.jobs.map(Self.leased), nextDue: result.nextDue)
    }

    package func waitForWork(nextDue: Timestamp?) async {
        await consumer.waitForWork(upTo: .seconds(2), nextDue: nextDue)
    }

    package func extend(_ jobs: [(id: String, token: String)]) async throws -> Set<String> {
        Set(try await consumer.extend(jobs.map { LockedJob(id: $0.id, token: $0.token) }))
    }

    package func end(_ jobs: [EndedJob], isRepeat: Bool) async throws -> Set<String> {
        var finished: [FinishedJob] = []
        var moved: [MovedJob] = []
        for job in jobs {
            let locked = LockedJob(id: job.id, token: job.token)
            switch job.ending {
            case .completed(let returnValue):
                finished.append(FinishedJob(locked, .completed(returnvalue: returnValue)))
            case .failed(let reason): finished.append(FinishedJob(locked, .failed(reason: reason)))
            case .again(let moment, let countsAttempt, let reason):
                moved.append(
                    MovedJob(
                        locked,
                        to: .delayed(until: moment, skipAttempt: !countsAttempt),
                        failedReason: countsAttempt ? reason : nil
                    )
                )
            case .givenBack: moved.append(MovedJob(locked, to: .waiting))
            }
        }
        func isLost(_ result: ReleaseResult) -> Bool {
            switch result {
            case .done, .missing: false
            case .lockLost: true
            case .notLocked: !isRepeat
            }
        }
        var lost: Set<String> = []
        if !finished.isEmpty {
            for (job, result) in zip(finished, try await consumer.finish(finished)) where isLost(result) {
                lost.insert(job.job.id)
            }
        }
        if !moved.isEmpty {
            for (job, result) in zip(moved, try await consumer.move(moved)) where isLost(result) {
                lost.insert(job.job.id)
            }
        }
        return lost
    }

    package func recoverStalled() async throws {
        _ = try await consumer.recoverStalled()
        try await consumer.maintain()
    }

    /// A foreign producer may write any number; beyond these a sum could overflow. Both lie far past the horizon that the
    /// engine accepts: ten years, and the end of the year 9999.
    private static let longestDelay: Int64 = 315_576_000_000
    private static let latestTimestamp: UInt64 = 253_402_300_799_999

    private static func leased(_ job: ClaimedJob) -> LeasedJob {
        // The hash's own delay changes with every retry; what the producer asked for stays in the options.
        let options = job.options
        let delay = min(max(0, options["delay"]?.integerValue ?? 0), longestDelay)
        let attempts = options["attempts"]?.integerValue.map(Int.init(clamping:)) ?? 0
        return LeasedJob(
            id: job.id,
            token: job.token,
            data: job.data,
            timestamp: job.timestamp.flatMap { $0.milliseconds.magnitude <= latestTimestamp ? $0 : nil },
            delay: .milliseconds(delay),
            attemptsStarted: job.attemptsStarted,
            attemptsLimit: attempts > 1 ? attempts : nil,
            deferredFailure: job.deferredFailure
        )
    }
}
