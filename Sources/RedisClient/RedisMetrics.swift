import Observability

/// The metrics of one client, told apart by its label.
struct RedisMetrics: Sendable {
    let connections: Counter
    let connectFailures: Counter
    let lostConnections: Counter
    let timeouts: Counter
    let refused: Counter

    init(registry: MetricsRegistry, label: String) {
        let labels = [("client", label)]
        connections = registry.counter("redis_connections_total", help: "Connections that were made.", labels: labels)
        connectFailures = registry.counter(
            "redis_connect_failures_total",
            help: "Attempts to connect that failed.",
            labels: labels
        )
        lostConnections = registry.counter(
            "redis_connections_lost_total",
            help: "Connections that broke or were thrown away after a call took too long.",
            labels: labels
        )
        timeouts = registry.counter("redis_timeouts_total", help: "Calls that passed their deadline.", labels: labels)
        refused = registry.counter(
            "redis_calls_refused_total",
            help: "Calls refused because too many were outstanding.",
            labels: labels
        )
    }
}
