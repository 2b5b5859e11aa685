import HTTP2
import Kernel
import Observability
import Synchronization

/// The transport's metrics. Handles are kept, because a look-up in the registry costs more than the counting.
final class TransportMetrics: Sendable {
    private struct Label: Hashable {
        let outcome: String
        let reason: String
    }

    /// Reasons of our own, beside Apple's: together they bound the label.
    private static let ownReasons: Set<String> = [
        "Closing", "QueueFull", "NoConnection", "PayloadTooLarge", "PayloadEmpty", "MalformedDeviceToken",
        "BackgroundPushShowsSomething", "ProviderNotConfigured", "SigningFailed", "BreakerBadDeviceToken",
        "BreakerDeviceTokenNotForTopic",
    ]
    private static let connectionReasons = Set(HTTP2Error.Code.allCases.map(\.rawValue))

    private let registry: MetricsRegistry
    private let accepted: Counter
    private let others = Mutex<[Label: Counter]>([:])
    let duration: Histogram
    let mints: Counter
    let resends: Counter
    let breakerOpened: Counter

    init(_ registry: MetricsRegistry) {
        self.registry = registry
        accepted = Self.requests(registry, Label(outcome: "accepted", reason: ""))
        duration = registry.histogram(
            "apns_request_duration_seconds",
            help: "From submission to outcome, waiting for a stream included."
        )
        mints = registry.counter("apns_provider_tokens_total", help: "Provider tokens minted.")
        resends = registry.counter(
            "apns_resends_total",
            help: "Requests sent again in place because they provably were not processed."
        )
        breakerOpened = registry.counter(
            "apns_breaker_opened_total",
            help: "Times so many tokens were called bad that none was believed dead any more."
        )
    }

    /// Counts a stop of a whole pool.
    func stopped(_ reason: String) {
        registry.counter(
            "apns_stops_total",
            help: "Times Apple refused our account or configuration and everything was held back, by its reason.",
            labels: [("reason", Self.bounded(reason))]
        )
        .increment()
    }

    func count(_ outcome: PushOutcome, took: Duration) {
        duration.observe(took)
        let label: Label
        switch outcome {
        case .accepted: return accepted.increment()
        case .dead(let reason, _): label = Label(outcome: "dead", reason: Self.bounded(reason))
        case .rejected(let reason, _): label = Label(outcome: "rejected", reason: Self.bounded(reason))
        case .retry(let reason, _, _): label = Label(outcome: "retry", reason: Self.bounded(reason))
        case .throttled(let reason, _): label = Label(outcome: "throttled", reason: Self.bounded(reason))
        case .unknown(let reason): label = Label(outcome: "unknown", reason: Self.bounded(reason))
        case .notSent(let reason, _): label = Label(outcome: "not_sent", reason: Self.bounded(reason))
        }
        let counter = others.withLock { others in
            if let known = others[label] { return known }
            let made = Self.requests(registry, label)
            others[label] = made
            return made
        }
        counter.increment()
    }

    private static func requests(_ registry: MetricsRegistry, _ label: Label) -> Counter {
        registry.counter(
            "apns_requests_total",
            help: "Pushes handed to the transport, by outcome and the provider's reason.",
            labels: [("outcome", label.outcome), ("reason", label.reason)]
        )
    }

    private static func bounded(_ reason: String) -> String {
        let isKnown =
            APNsReason.names.contains(reason) || ownReasons.contains(reason) || connectionReasons.contains(reason)
        return isKnown ? reason : "other"
    }
}
