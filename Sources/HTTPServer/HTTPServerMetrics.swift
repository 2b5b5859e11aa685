import Observability
import Synchronization

/// Counts and times requests by method, route template and status. Handles are kept, so that a request costs no look-up in
/// the registry.
final class HTTPServerMetrics: Sendable {
    private struct Key: Hashable {
        let route: String
        let method: String
        let status: Int
    }

    private let registry: MetricsRegistry
    private let inFlight: Gauge
    private let counters = Mutex<[Key: Counter]>([:])
    private let histograms = Mutex<[Key: Histogram]>([:])

    init(registry: MetricsRegistry) {
        self.registry = registry
        inFlight = registry.gauge("http_server_in_flight", help: "Requests whose handler runs.")
    }

    func started() { inFlight.add(1) }

    func ended() { inFlight.add(-1) }

    /// Records an answer.
    /// - Parameter route: a template, or a fixed word for what matched none.
    func answered(method: String, route: String, status: Int, duration: Duration) {
        let key = Key(route: route, method: method, status: status)
        let counter = counters.withLock { counters in
            if let counter = counters[key] { return counter }
            let counter = registry.counter(
                "http_server_requests_total",
                help: "Requests by method, route template and status.",
                labels: [("method", method), ("route", route), ("status", String(status))]
            )
            counters[key] = counter
            return counter
        }
        counter.increment()
        let histogramKey = Key(route: route, method: method, status: 0)
        let histogram = histograms.withLock { histograms in
            if let histogram = histograms[histogramKey] { return histogram }
            let histogram = registry.histogram(
                "http_server_request_duration_seconds",
                help: "Time from a complete request to its answer.",
                labels: [("method", method), ("route", route)]
            )
            histograms[histogramKey] = histogram
            return histogram
        }
        histogram.observe(duration)
    }
}
