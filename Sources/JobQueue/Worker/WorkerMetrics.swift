import Observability

/// What a worker counts besides its consumer.
struct WorkerMetrics: Sendable {
    let claimErrors: Counter
    let releaseErrors: Counter
    let renewErrors: Counter
    let stalledErrors: Counter
    /// Jobs whose end Redis did not take; they come back when their lock lapses.
    let abandoned: Counter

    init(registry: MetricsRegistry, queue: QueueName, running: @escaping @Sendable () -> Double) {
        func errors(_ step: String) -> Counter {
            registry.counter(
                "queue_worker_errors_total",
                help: "Calls to Redis that failed and are tried again, by step.",
                labels: [("queue", queue.name), ("step", step)]
            )
        }
        claimErrors = errors("claim")
        releaseErrors = errors("release")
        renewErrors = errors("renew")
        stalledErrors = errors("stalled")
        abandoned = registry.counter(
            "queue_worker_abandoned_total",
            help: "Ended jobs whose end could not be recorded.",
            labels: [("queue", queue.name)]
        )
        registry.gauge(
            "queue_worker_running",
            help: "Handlers at work.",
            labels: [("queue", queue.name)],
            reading: running
        )
    }
}
