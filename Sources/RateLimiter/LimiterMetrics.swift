import Observability

/// What the limiter counts.
struct LimiterMetrics: Sendable {
    private let taken: Counter
    private let repeated: Counter
    private let refusedCategory: Counter
    private let refusedGlobal: Counter
    private let uncounted: Counter
    let failures: Counter

    init(registry: MetricsRegistry) {
        func results(_ value: String) -> Counter {
            registry.counter("caps_slots_total", help: "Answers for weekly slots.", labels: [("result", value)])
        }
        taken = results("taken")
        repeated = results("already_taken")
        refusedCategory = results("refused_category")
        refusedGlobal = results("refused_global")
        uncounted = results("uncounted")
        failures = registry.counter("caps_failures_total", help: "Calls for weekly slots that Redis did not answer.")
    }

    func count(_ results: [SlotResult]) {
        for result in results {
            switch result {
            case .taken: taken.increment()
            case .alreadyTaken: repeated.increment()
            case .refused(.category): refusedCategory.increment()
            case .refused(.global): refusedGlobal.increment()
            case .uncounted: uncounted.increment()
            }
        }
    }
}
