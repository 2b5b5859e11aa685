package import Kernel
package import NotificationBus
import NotificationContract
package import Notifications
package import Store

/// Words and identity of account notices, and the one line that sends one.
package struct LifecycleNotices: Sendable {
    /// What a notice is about, beside user and event.
    package struct Subject: Sendable, Equatable {
        /// `nil` when the caller does not know it.
        package var originalTransactionID: String?
        package var productID: String?
        /// The end of the period; with it a notice about the same is never sent twice.
        package var periodEnd: Timestamp?

        package init(originalTransactionID: String? = nil, productID: String? = nil, periodEnd: Timestamp? = nil) {
            self.originalTransactionID = originalTransactionID
            self.productID = productID
            self.periodEnd = periodEnd
        }
    }

    /// Rows of messages lie in months around their id's instant; further away, the day of the event is taken.
    private static let instantReach = Duration.seconds(26 * 86_400)
    /// The notice that comes before an end takes its place among the messages of the day when it is told.
    private static let warning = Duration.seconds(4 * 86_400)

    private let catalog: Catalog
    private let tiers: ProductTiers
    private let identity: MessageIdentity

    package init(catalog: Catalog, tiers: ProductTiers, identity: MessageIdentity) {
        self.catalog = catalog
        self.tiers = tiers
        self.identity = identity
    }

    /// What pending notices about a subscription are called back by.
    package static func source(_ originalTransactionID: String) -> String { "sub:\(originalTransactionID)" }

    /// The notice's id: the same for the same subscription (or user), event and period.
    /// - Parameter moment: when the event happened.
    package func messageID(_ user: UserID, _ event: LifecycleEvent, _ subject: Subject, at moment: Timestamp)
        -> MessageID
    {
        let about = subject.originalTransactionID ?? user.rawValue
        let period = (subject.periodEnd ?? moment).milliseconds
        let key = "\(about)\u{0}\(event.rawValue)\u{0}\(period)"
        let day: Int64 = 86_400_000
        var instant = Timestamp(milliseconds: moment.milliseconds / day * day)
        if let end = subject.periodEnd, Self.isNear(end, of: event, at: moment) { instant = Self.instant(event, end) }
        return identity.messageID(kind: "lifecycle", key: key, instant: instant)
    }

    /// Whether a notice about a period is known by the end of the period alone, whenever it is asked for.
    package static func isNear(_ end: Timestamp, of event: LifecycleEvent, at moment: Timestamp) -> Bool {
        let instant = instant(event, end)
        return instant > moment - instantReach && instant < moment + instantReach
    }

    private static func instant(_ event: LifecycleEvent, _ end: Timestamp) -> Timestamp {
        event == .subscriptionExpiring ? end - warning : end
    }

    /// What is wrong with a period end that a caller gives, `nil` when nothing is.
    package static func fault(of end: Timestamp?, for event: LifecycleEvent, at moment: Timestamp) -> String? {
        guard let end else {
            return event == .subscriptionExpiring ? "is missing: \(event.rawValue) says when" : nil
        }
        let days = instantReach.components.seconds / 86_400
        return isNear(end, of: event, at: moment)
            ? nil : "must lie within \(days) days of now: a notice is told about the time when it happens"
    }

    /// The notice in the user's language. `subscription_expiring` needs the audience's local date of the end.
    package func job(
        _ user: UserID,
        _ event: LifecycleEvent,
        _ subject: Subject,
        _ audience: SubscriptionAudience
    ) -> NotificationJob {
        let locale = ServerLocale.resolve(audience.language)
        var variables: CatalogVariables = [:]
        if event == .subscriptionExpiring, let date = audience.localDate,
            let shown = PlaceholderValue(date: DateText.long(iso: date, locale) ?? date)
        {
            variables = [.tierName: PlaceholderValue(name: tierName(subject.productID, locale)), .expiryDate: shown]
        }
        return NotificationJob(
            userID: user,
            category: .lifecycle,
            text: .catalog(key: event.textKey, variables: variables),
            metadata: ["event": .string(event.rawValue)],
            sourceEntityID: subject.originalTransactionID.map(Self.source),
            // The variables are words of one language: the rest must be of the same.
            languageCode: variables == [:] ? nil : locale.rawValue
        )
    }

    /// What the operator calls the product, else the catalog's word for any subscription.
    private func tierName(_ product: String?, _ locale: ServerLocale) -> OperatorText {
        tiers.name(of: product, locale) ?? OperatorText(writtenByOperator: catalog.t("common.tier", locale))
    }

    /// Whether the product has a name of its own.
    package func names(_ product: String?) -> Bool { tiers.name(of: product, .english) != nil }
}

/// The hook for whoever handles an event of a subscription (P7).
package struct LifecycleNotifier: Sendable {
    private let notices: LifecycleNotices
    private let bus: NotificationBus
    private let store: SubscriptionStore
    private let clock: any WallClock

    package init(notices: LifecycleNotices, bus: NotificationBus, store: SubscriptionStore, clock: any WallClock) {
        self.notices = notices
        self.bus = bus
        self.store = store
        self.clock = clock
    }

    /// Tells a user about an event: `try await notifier.notifyLifecycleEvent(user, .subscriptionExpired)`.
    ///
    /// A notice with a period end is sent once for it; one without is sent once for the moment.
    /// - Throws: `FieldProblems` for `subscriptionExpiring` without a period end, which is what it speaks of, and for one that is
    ///   weeks away.
    package func notifyLifecycleEvent(
        _ user: UserID,
        _ event: LifecycleEvent,
        about subject: LifecycleNotices.Subject = .init()
    ) async throws -> EnqueueReceipt {
        let moment = clock.now
        if let fault = LifecycleNotices.fault(of: subject.periodEnd, for: event, at: moment) {
            throw FieldProblems([FieldProblem(pointer: "/periodEnd", reason: "invalid_period", message: fault)])
        }
        let audience = try await store.audience(of: user.rawValue, at: subject.periodEnd)
        let id = notices.messageID(user, event, subject, at: moment)
        return try await bus.enqueueNotification(
            NotificationRequest(job: notices.job(user, event, subject, audience), messageID: id)
        )
    }
}
