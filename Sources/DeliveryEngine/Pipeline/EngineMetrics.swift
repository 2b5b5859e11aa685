import Kernel
import Observability

/// The engine's metric handles. Labels come from fixed lists: stages, categories of the registry, outcomes.
struct EngineMetrics: Sendable {
    /// The parts of the pipeline whose time is taken, for a group at a time.
    enum Stage: String, CaseIterable {
        case claim, read, caps, write, record, end
    }

    /// From 10 ms to three days: what a job may wait.
    private static let waits: [Double] = [
        0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 72 * 3600,
    ]

    private let registry: MetricsRegistry
    private let stages: [Stage: Histogram]
    let locksLost: Counter
    let claimed: Counter
    let queueWait: Histogram
    let sendDuration: Histogram
    let slotsCounted: Counter
    let slotsFreedLate: Counter
    let messagesLost: Counter

    init(registry: MetricsRegistry, inFlight: @escaping @Sendable () -> Double) {
        self.registry = registry
        locksLost = registry.counter("delivery_locks_lost_total", help: "Jobs whose lock was lost before they ended")
        claimed = registry.counter("delivery_jobs_claimed_total", help: "Jobs taken from the queue")
        queueWait = registry.histogram(
            "delivery_queue_wait_seconds",
            help: "From the moment a notification was due to its first claim",
            bounds: Self.waits
        )
        sendDuration = registry.histogram(
            "delivery_send_duration_seconds",
            help: "From handing a push to the transport to its answer, for each device"
        )
        slotsCounted = registry.counter(
            "delivery_slots_counted_total",
            help: "Weekly slots taken afterwards, for messages that went out uncounted"
        )
        slotsFreedLate = registry.counter(
            "delivery_slots_freed_late_total",
            help: "Weekly slots freed afterwards, because the caps did not answer when they should have been"
        )
        messagesLost = registry.counter(
            "delivery_messages_lost_total",
            help: "Messages ended because their job was gone"
        )
        var stages: [Stage: Histogram] = [:]
        for stage in Stage.allCases {
            stages[stage] = registry.histogram(
                "delivery_stage_duration_seconds",
                help: "Time of one group in each stage of the pipeline",
                labels: [("stage", stage.rawValue)]
            )
        }
        self.stages = stages
        registry.gauge("delivery_jobs_in_flight", help: "Jobs held by this process", reading: inFlight)
    }

    /// Notes how long a group spent in a stage.
    func took(_ stage: Stage, since start: ContinuousClock.Instant) {
        stages[stage]?.observe(start.duration(to: .now))
    }

    func outcome(_ outcome: String, category: String) -> Counter {
        registry.counter(
            "delivery_outcomes_total",
            help: "Messages by how they ended",
            labels: [("category", category), ("outcome", outcome)]
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
