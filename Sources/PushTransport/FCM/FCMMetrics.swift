import HTTP2
import Kernel
import Observability

/// FCM's metrics, named as APNs's are.
struct FCMMetrics: Sendable {
    /// Reasons of our own, beside Google's: together they bound the label.
    private static let ownReasons: Set<String> = [
        "Closing", "QueueFull", "NoConnection", "NoAccessToken", "PayloadTooLarge", "PayloadEmpty", "PayloadNotJSON",
        "MalformedDeviceToken", "BadPushType", "BadCollapseId", "BadTTL", "DataValueNotString", "ReservedDataKey",
        "BreakerINVALID_ARGUMENT", "BreakerSENDER_ID_MISMATCH",
    ]
    private static let connectionReasons = Set(HTTP2Error.Code.allCases.map(\.rawValue))

    private let registry: MetricsRegistry
    private let accepted: Counter
    private let duration: Histogram
    let resends: Counter
    let breakerOpened: Counter
    let quotaHolds: Counter

    init(_ registry: MetricsRegistry) {
        self.registry = registry
        accepted = Self.requests(registry, "accepted", "")
        duration = registry.histogram(
            "fcm_request_duration_seconds",
            help: "From submission to outcome, waiting for a stream included."
        )
        resends = registry.counter(
            "fcm_resends_total",
            help: "Requests sent again in place because they provably were not processed."
        )
        breakerOpened = registry.counter(
            "fcm_breaker_opened_total",
            help: "Times so many tokens were called bad that none was believed dead any more."
        )
        quotaHolds = registry.counter(
            "fcm_quota_holds_total",
            help: "Times nothing was sent for a while because the project's quota was used up."
        )
    }

    func count(_ outcome: PushOutcome, took: Duration) {
        duration.observe(took)
        switch outcome {
        case .accepted: accepted.increment()
        case .dead(let reason, _): count("dead", reason)
        case .rejected(let reason, _): count("rejected", reason)
        case .retry(let reason, _, _): count("retry", reason)
        case .throttled(let reason, _): count("throttled", reason)
        case .unknown(let reason): count("unknown", reason)
        case .notSent(let reason, _): count("not_sent", reason)
        }
    }

    /// Counts a request for an access token.
    func countToken(_ result: String) {
        registry.counter(
            "fcm_access_tokens_total",
            help: "Requests for access tokens, by how they ended.",
            labels: [("result", result)]
        )
        .increment()
    }

    private func count(_ outcome: String, _ reason: String) {
        let isKnown =
            FCMReason.names.contains(reason) || Self.ownReasons.contains(reason)
            || Self.connectionReasons.contains(reason)
        Self.requests(registry, outcome, isKnown ? reason : "other").increment()
    }

    private static func requests(_ registry: MetricsRegistry, _ outcome: String, _ reason: String) -> Counter {
        registry.counter(
            "fcm_requests_total",
            help: "Pushes handed to FCM, by outcome and Google's reason.",
            labels: [("outcome", outcome), ("reason", reason)]
        )
    }
}
