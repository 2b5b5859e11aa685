import Observability

/// The engine's metric handles.
struct EngineMetrics: Sendable {
    private let registry: MetricsRegistry
    let locksLost: Counter
    let claimed: Counter
    let groupDuration: Histogram

    init(registry: MetricsRegistry, inFlight: @escaping @Sendable () -> Double) {
        self.registry = registry
        locksLost = registry.counter("delivery_locks_lost_total", help: "Jobs whose lock was lost before they ended")
        claimed = registry.counter("delivery_jobs_claimed_total", help: "Jobs taken from the queue")
        groupDuration = registry.histogram(
            "delivery_group_duration_seconds",
            help: "From the claim of a group to its pushes being handed over"
        )
        registry.gauge("delivery_jobs_in_flight", help: "Jobs held by this process", reading: inFlight)
    }

    func outcome(_ outcome: String, category: String?) -> Counter {
        registry.counter(
            "delivery_outcomes_total",
            help: "Messages by how they ended",
            labels: [("category", category ?? "none"), ("outcome", outcome)]
        )
    }

    func failure(_ step: String) -> Counter {
        registry.counter(
            "delivery_step_failures_total",
            help: "Failed calls to Redis or PostgreSQL by pipeline step",
            labels: [("step", step)]
        )
    }
}
