import Kernel
import Observability
import RedisClient

/// Plans the next run of a scheduler when one of its runs was taken: whoever takes it must, or the scheduler ends with it.
struct SchedulerPlanner: Sendable {
    /// What came of it.
    enum Outcome: Equatable {
        case planned(Timestamp)
        /// The last run, or another worker planned the next one, or the scheduler is gone.
        case nothingToDo
        /// Its pattern or time zone is not understood here.
        case unsupported
    }

    let queue: JobQueue

    /// The id of the scheduler and the time of the run, from the id of a job: `repeat:<scheduler>:<ms>`.
    static func run(_ jobID: String) -> (scheduler: String, time: Timestamp)? {
        guard jobID.hasPrefix("repeat:"), let colon = jobID.lastIndex(of: ":") else { return nil }
        let start = jobID.index(jobID.startIndex, offsetBy: 7)
        guard start < colon, let time = Int64(jobID[jobID.index(after: colon)...]) else { return nil }
        return (String(jobID[start..<colon]), Timestamp(milliseconds: time))
    }

    /// Plans the run after the one of this id. Failures are logged and counted, not thrown: the run itself goes on, and
    /// `JobConsumer.maintain` makes up for it.
    func planNext(after jobID: String) async {
        guard let run = Self.run(jobID) else { return }
        do throws(JobQueueError) {
            switch try await plan(run.scheduler, after: run.time) {
            case .planned: queue.metrics.schedulerRuns.increment()
            case .nothingToDo: break
            case .unsupported:
                queue.metrics.schedulersUnsupported.increment()
                queue.telemetry.logger.warning(
                    "a scheduler was not continued: its pattern or time zone is not supported",
                    ["scheduler": .string(run.scheduler)]
                )
            }
        } catch {
            queue.metrics.schedulerErrors.increment()
            queue.telemetry.logger.error(
                "the next run of a scheduler could not be planned",
                ["scheduler": .string(run.scheduler), "error": .error(error)]
            )
        }
    }

    private func plan(_ id: String, after previous: Timestamp) async throws(JobQueueError) -> Outcome {
        // Again when another client changed the scheduler between reading and writing.
        for _ in 0..<3 {
            guard let scheduler = try await queue.scheduler(id), scheduler.next == previous else { return .nothingToDo }
            guard scheduler.hasKnownTimeZone else { return .unsupported }
            let now = queue.connection.clock.now
            let next: Timestamp?
            do throws(JobQueueError) {
                next = try scheduler.schedule.next(after: previous, now: now, iterations: scheduler.iterations)
            } catch {
                guard error.code == .invalidSchedule else { throw error }
                return .unsupported
            }
            guard let next else { return .nothingToDo }
            let options = JobScheduler.runOptions(
                template: scheduler.options,
                scheduler: id,
                schedule: scheduler.schedule,
                timeZone: scheduler.timeZone,
                time: next,
                now: now,
                count: scheduler.iterations + 1
            )
            let reply = try await queue.connection.run(
                QueueScripts.scheduleNext,
                now: now,
                [
                    .string(id), .integer(previous.milliseconds), .init(scheduler.iterations),
                    .integer(next.milliseconds), .string(scheduler.data), .string(options),
                ]
            )
            switch try reply.reading({ reply throws(RedisError) in try reply.requireInt("schedule-next") }) {
            case 1: return .planned(next)
            case -1: continue
            default: return .nothingToDo
            }
        }
        return .nothingToDo
    }
}
