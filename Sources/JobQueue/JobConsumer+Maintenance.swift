import Kernel

/// What one round of maintenance did.
package struct MaintenanceResult: Sendable, Equatable {
    /// Finished jobs removed because of their number or age.
    package var swept = 0
    /// Schedulers whose next run had been lost.
    package var revivedSchedulers = 0
}

extension JobConsumer {
    /// How long a scheduler's run may be overdue before somebody looks after it.
    static let schedulerGrace: Duration = .seconds(60)

    /// Does what no job's end does: removes finished jobs beyond what is kept, also on a quiet queue, and plans the next run
    /// of schedulers whose worker died between taking a run and planning the next. Bounded: at most 20,000 jobs and 100
    /// schedulers a call. Meant to run with every check for stalled jobs.
    @discardableResult
    package func maintain() async throws(JobQueueError) -> MaintenanceResult {
        var result = MaintenanceResult()
        result.swept = try await queue.sweep(
            completed: JobQueue.Kept(count: options.keptCompleted, age: options.completedAge),
            failed: JobQueue.Kept(count: options.keptFailed, age: options.failedAge)
        )
        let planner = SchedulerPlanner(queue: queue)
        let overdue = try await queue.overdueSchedulers(before: connection.clock.now - Self.schedulerGrace, limit: 100)
        for scheduler in overdue {
            guard let next = scheduler.next, !isOver(scheduler) else { continue }
            let run = "repeat:\(scheduler.id):\(next.milliseconds)"
            let state = try await queue.job(run)?.state ?? "unknown"
            // One that still waits or is active is planned for by whoever takes it.
            guard ["unknown", "completed", "failed"].contains(state) else { continue }
            await planner.planNext(after: run)
            result.revivedSchedulers += 1
        }
        return result
    }

    /// Plans the next runs of schedulers for jobs that were just taken.
    func planSchedulers(for jobs: [ClaimedJob]) async {
        for job in jobs where job.id.hasPrefix("repeat:") {
            await SchedulerPlanner(queue: queue).planNext(after: job.id)
        }
    }

    private func isOver(_ scheduler: JobScheduler) -> Bool {
        guard scheduler.hasKnownTimeZone, let next = scheduler.next else { return true }
        // What is not understood was told of when its run was taken.
        let after = try? scheduler.schedule.next(
            after: next,
            now: connection.clock.now,
            iterations: scheduler.iterations
        )
        return (after ?? nil) == nil
    }
}
