import Observability

/// The counters of one queue. Producers and consumers of a process share them.
struct QueueMetrics: Sendable {
    let added: Counter
    let duplicates: Counter
    let claimed: Counter
    let dropped: Counter
    let completed: Counter
    let failed: Counter
    let delayed: Counter
    let retried: Counter
    let givenBack: Counter
    let locksLost: Counter
    let recovered: Counter
    let waitErrors: Counter
    let schedulerRuns: Counter
    let schedulersUnsupported: Counter
    let schedulerErrors: Counter
    let swept: Counter

    init(registry: MetricsRegistry, queue: QueueName) {
        func counter(_ name: String, _ help: String, _ labels: [(String, String)] = []) -> Counter {
            registry.counter(name, help: help, labels: [("queue", queue.name)] + labels)
        }
        added = counter("queue_jobs_added_total", "Jobs that were added.")
        duplicates = counter("queue_jobs_duplicate_total", "Jobs not added because one of that id exists.")
        claimed = counter("queue_jobs_claimed_total", "Jobs that were taken.")
        dropped = counter("queue_jobs_dropped_total", "Ids that were dropped because no job stands behind them.")
        let ended = "Jobs that a worker let go of, by how."
        completed = counter("queue_jobs_ended_total", ended, [("how", "completed")])
        failed = counter("queue_jobs_ended_total", ended, [("how", "failed")])
        delayed = counter("queue_jobs_ended_total", ended, [("how", "delayed")])
        retried = counter("queue_jobs_ended_total", ended, [("how", "retried")])
        givenBack = counter("queue_jobs_ended_total", ended, [("how", "given_back")])
        locksLost = counter("queue_locks_lost_total", "Jobs whose lock was gone when they should be renewed or ended.")
        recovered = counter("queue_jobs_stalled_total", "Jobs brought back because their worker was gone.")
        schedulerRuns = counter("queue_scheduler_runs_total", "Next runs of schedulers that were planned.")
        schedulersUnsupported = counter(
            "queue_schedulers_unsupported_total",
            "Runs after which none was planned, because the pattern or time zone is not supported."
        )
        schedulerErrors = counter("queue_scheduler_errors_total", "Next runs of schedulers that could not be planned.")
        swept = counter("queue_jobs_swept_total", "Finished jobs removed because of their number or age.")
        waitErrors = counter("queue_wait_errors_total", "Waits for new work that failed.")
    }
}
