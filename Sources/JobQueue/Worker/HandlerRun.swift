import Kernel
import Observability

/// One run of a handler: what it returned or threw becomes an ending for its job.
struct HandlerRun: Sendable {
    let queue: JobQueue
    let retries: RetryPolicy
    let handler: JobWorker.Handler

    func perform(_ held: HeldJob) async -> EndedJob {
        if let reason = held.job.deferredFailure {
            return EndedJob(held: held, ending: .finished(.failed(reason: reason)))
        }
        do {
            let value = try await handler(JobContext(held, queue: queue))
            guard JSONText.isValid(value) else {
                throw UnrecoverableFailure("the handler's return value is no JSON")
            }
            return EndedJob(held: held, ending: .finished(.completed(returnvalue: value)))
        } catch {
            if let limited = error as? RateLimitedJob { await holdBack(for: limited.duration) }
            return EndedJob(held: held, ending: ending(of: held.job, error))
        }
    }

    /// Before the job is given back, so that nobody takes it at once.
    private func holdBack(for duration: Duration) async {
        do throws(JobQueueError) {
            try await queue.holdBack(for: duration)
        } catch {
            queue.telemetry.logger.warning("a rate limit could not be passed on", ["error": .error(error)])
        }
    }

    private func ending(of job: ClaimedJob, _ error: any Error) -> EndedJob.Ending {
        switch error {
        case let failure as UnrecoverableFailure:
            return .finished(.failed(reason: text(failure.reason, of: error), trace: trace(error)))
        case let delayed as DelayedJob:
            return .moved(.delayed(until: delayed.until, skipAttempt: true), reason: nil, trace: nil)
        case is RateLimitedJob: return .givenBack
        // Only a stop or a lost lock cancels a handler, and neither is the job's fault.
        case _ where Task.isCancelled: return .givenBack
        default: break
        }
        let reason = text("\(error)", of: error)
        switch retries.decide(options: job.options, attemptsMade: job.attemptsMade) {
        case .fail: return .finished(.failed(reason: reason, trace: trace(error)))
        case .retry: return .moved(.retry, reason: reason, trace: trace(error))
        case .retryAfter(let delay):
            let due = queue.connection.clock.now + delay
            return .moved(.delayed(until: due, skipAttempt: false), reason: reason, trace: trace(error))
        }
    }

    /// Dashboards take an empty reason for none.
    private func text(_ reason: String, of error: any Error) -> String {
        reason.isEmpty ? "\(type(of: error))" : reason
    }

    private func trace(_ error: any Error) -> String { "\(type(of: error)): \(error)" }
}
