import Observability

/// Counts of the lifecycle producer.
struct LifecycleMetrics: Sendable {
    private let registry: MetricsRegistry

    init(_ registry: MetricsRegistry) {
        self.registry = registry
    }

    func count(_ outcome: LifecycleRules.Outcome) {
        registry.counter(
            "lifecycle_notifications_total",
            help: "Notifications of the App Store that were settled, by outcome.",
            labels: [("outcome", outcome.rawValue)]
        )
        .increment()
    }

    func count(_ event: LifecycleEvent) {
        registry.counter(
            "lifecycle_announcements_total",
            help: "Account notices put on the queue, by event.",
            labels: [("event", event.rawValue)]
        )
        .increment()
    }

    func countUnknownType() {
        registry.counter(
            "lifecycle_unknown_types_total",
            help: "Notifications of a type that is not known; they are recorded."
        )
        .increment()
    }

    func countUnnamedProduct() {
        registry.counter(
            "lifecycle_unnamed_products_total",
            help: "Notices about a product that PRODUCT_TIERS_FILE does not list; they speak of a subscription."
        )
        .increment()
    }

    func countLink(_ isGranted: Bool) {
        registry.counter(
            "lifecycle_links_total",
            help: "Users' claims to subscriptions, by decision.",
            labels: [("decision", isGranted ? "granted" : "refused")]
        )
        .increment()
    }

    func countExpiryCheck(_ outcome: String) {
        registry.counter(
            "lifecycle_expiry_checks_total",
            help: "Subscriptions looked at three days before their end, by outcome.",
            labels: [("outcome", outcome)]
        )
        .increment()
    }
}
