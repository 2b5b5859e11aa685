/// What can be said to a user about a subscription (P6). The raw value names it over HTTP and in the catalog.
package enum LifecycleEvent: String, Sendable, CaseIterable {
    /// Apple could not charge; access may go on for a while.
    case renewalFailed = "renewal_failed"
    case subscriptionExpired = "subscription_expired"
    /// The grace period ended unpaid.
    case gracePeriodExpired = "grace_period_expired"
    /// Three days before the end of a subscription that will not renew.
    case subscriptionExpiring = "subscription_expiring"

    /// The key of its text.
    package var textKey: String { "lifecycle.\(rawValue)" }

    /// Whether the reader is asked to pay: only the one whose purchase it is can.
    var isAboutPayment: Bool { self == .renewalFailed || self == .gracePeriodExpired }
}
