import Kernel
import Store

/// What a notification means for its subscription and its user. Pure: a record goes in, a record and a verdict come out.
struct LifecycleRules {
    /// What is older than this when it arrives is applied and announced no more: the user has found out, or it has changed again.
    static let freshness = Duration.seconds(24 * 3600)

    /// What became of a notification. The raw value is stored and a metric label.
    enum Outcome: String, CaseIterable {
        case announced
        /// Changed the subscription; nothing to say.
        case applied
        /// The subscription is well again: what was pending is called back.
        case recovered
        /// About no subscription, or of a kind that changes none.
        case recorded
        /// Older than what is known.
        case outdated
        /// Too old to be announced.
        case late
        case sandbox
        /// The user was told of this period's end already.
        case alreadySaid = "already_said"
        /// About a payment that the reader, a family member, cannot make.
        case familyShared = "family_shared"
        /// Nobody is known to own the subscription yet.
        case unlinked
        /// Another subscription of the same group goes on.
        case otherActive = "other_active"
        /// What was stored cannot be read, or cannot be processed.
        case failed
    }

    struct Judgement {
        var record: SubscriptionRecord
        var outcome: Outcome
        /// To be announced, unless another subscription of the group goes on.
        var announcement: LifecycleEvent?
        /// Pending notices are called back, for this reason.
        var callsBack: String?
    }

    /// What a type does. Types that are not listed are recorded.
    private enum Effect {
        case announce(LifecycleEvent)
        case recover(String)
        case apply
    }

    private static func effect(of notification: AppStoreNotification) -> Effect? {
        switch notification.type {
        case "DID_FAIL_TO_RENEW": .announce(.renewalFailed)
        case "GRACE_PERIOD_EXPIRED": .announce(.gracePeriodExpired)
        // The type decides, whatever subtypes Apple adds.
        case "EXPIRED": .announce(.subscriptionExpired)
        case "DID_RENEW", "SUBSCRIBED": .recover("renewed")
        case "RENEWAL_EXTENDED": .recover("extended")
        case "REFUND_REVERSED": .recover("refund_reversed")
        case "REFUND", "REVOKE": .recover("revoked")
        case "DID_CHANGE_RENEWAL_STATUS":
            notification.renewal?.autoRenews == true ? .recover("auto_renew_enabled") : .apply
        case "DID_CHANGE_RENEWAL_PREF", "OFFER_REDEEMED", "PRICE_INCREASE": .apply
        default: nil
        }
    }

    /// Every type of Apple's documentation, so that a new one is noticed.
    static let knownTypes: Set<String> = [
        "SUBSCRIBED", "DID_RENEW", "DID_FAIL_TO_RENEW", "GRACE_PERIOD_EXPIRED", "EXPIRED", "DID_CHANGE_RENEWAL_PREF",
        "DID_CHANGE_RENEWAL_STATUS", "OFFER_REDEEMED", "PRICE_INCREASE", "REFUND", "REFUND_DECLINED", "REFUND_REVERSED",
        "CONSUMPTION_REQUEST", "REVOKE", "RENEWAL_EXTENDED", "RENEWAL_EXTENSION", "ONE_TIME_CHARGE",
        "EXTERNAL_PURCHASE_TOKEN", "RESCIND_CONSENT", "METADATA_UPDATE", "MIGRATION", "MIGRATE", "PRICE_CHANGE", "TEST",
    ]

    /// Whether a notification changes a subscription at all.
    static func concernsSubscription(_ notification: AppStoreNotification) -> Bool {
        guard notification.originalTransactionID != nil, effect(of: notification) != nil else { return false }
        // Refunds of things bought once come under the same types.
        return notification.transaction?.isAutoRenewable ?? true
    }

    /// - Parameter record: with its owner, where one is known.
    static func judge(_ notification: AppStoreNotification, _ record: SubscriptionRecord, now: Timestamp) -> Judgement {
        guard concernsSubscription(notification), let effect = effect(of: notification) else {
            return Judgement(record: record, outcome: .recorded)
        }
        let isOutdated = record.eventSignedAt.map { notification.signedAt < $0 } ?? false
        var record = record
        record.apply(notification.transaction)
        record.apply(notification.renewal)
        if !isOutdated {
            record.eventSignedAt = notification.signedAt
            record.status = notification.status ?? impliedStatus(notification) ?? record.status
        }
        guard !isOutdated else { return Judgement(record: record, outcome: .outdated) }
        switch effect {
        case .apply:
            return Judgement(record: record, outcome: .applied)
        case .recover(let reason):
            return Judgement(record: record, outcome: .recovered, callsBack: reason)
        case .announce(let event):
            if let reason = silence(event, notification, record, now: now) {
                return Judgement(record: record, outcome: reason)
            }
            // What is pending is about an earlier stage of the same.
            return Judgement(record: record, outcome: .announced, announcement: event, callsBack: "superseded")
        }
    }

    /// Why an event is not announced, `nil` when it is.
    private static func silence(
        _ event: LifecycleEvent,
        _ notification: AppStoreNotification,
        _ record: SubscriptionRecord,
        now: Timestamp
    ) -> Outcome? {
        if notification.environment == .sandbox { return .sandbox }
        if now - notification.signedAt > freshness { return .late }
        if record.isFamilyShared, event.isAboutPayment { return .familyShared }
        if record.user == nil { return .unlinked }
        if record.wasTold(event) { return .alreadySaid }
        // Apple gave up after weeks; access was lost, and that was said, when the payment failed.
        if event == .subscriptionExpired, notification.subtype == "BILLING_RETRY",
            record.wasTold(.renewalFailed) || record.wasTold(.gracePeriodExpired)
        {
            return .alreadySaid
        }
        return nil
    }

    private static func impliedStatus(_ notification: AppStoreNotification) -> Int? {
        switch notification.type {
        case "DID_RENEW", "SUBSCRIBED", "RENEWAL_EXTENDED", "REFUND_REVERSED": 1
        case "EXPIRED": 2
        case "DID_FAIL_TO_RENEW": notification.subtype == "GRACE_PERIOD" ? 4 : 3
        case "GRACE_PERIOD_EXPIRED": 3
        case "REFUND", "REVOKE": 5
        default: nil
        }
    }
}

extension SubscriptionRecord {
    /// Takes over a transaction that is not older than what is known.
    mutating func apply(_ transaction: AppStoreTransaction?) {
        guard let transaction, transactionSignedAt.map({ transaction.signedAt >= $0 }) ?? true else { return }
        transactionSignedAt = transaction.signedAt
        productID = transaction.productID ?? productID
        subscriptionGroup = transaction.subscriptionGroup ?? subscriptionGroup
        appAccountToken = transaction.appAccountToken.flatMap { UUIDBits($0) } ?? appAccountToken
        expiresAt = transaction.expiresAt ?? expiresAt
        revokedAt = transaction.revokedAt
        commitmentExpiresAt = transaction.commitmentExpiresAt
        isFamilyShared = transaction.isFamilyShared
    }

    /// Takes over renewal information that is not older than what is known.
    mutating func apply(_ renewal: AppStoreRenewal?) {
        guard let renewal, renewalSignedAt.map({ renewal.signedAt >= $0 }) ?? true else { return }
        renewalSignedAt = renewal.signedAt
        autoRenews = renewal.autoRenews ?? autoRenews
        nextProductID = renewal.nextProductID
        graceExpiresAt = renewal.graceExpiresAt
    }

    /// The end of the period that notices are about.
    var period: Int64 { expiresAt?.milliseconds ?? 0 }

    /// Whether the event was announced for the present period.
    func wasTold(_ event: LifecycleEvent) -> Bool { announced[event.rawValue] == period }

    mutating func noteTold(_ event: LifecycleEvent) { announced[event.rawValue] = period }

    /// Whether the user may own it: bought without an account token, or with the user's own.
    func mayBelong(to user: String) -> Bool {
        guard let appAccountToken else { return true }
        return appAccountToken.description == user.lowercased()
    }
}
