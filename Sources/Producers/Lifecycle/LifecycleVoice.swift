package import Kernel
package import Notifications
package import Store

/// What the lifecycle producer would say to a user now: the notice that fits where the user's subscriptions stand, if it was not told
/// for this period already.
package struct LifecycleVoice: CategoryVoice {
    private let store: SubscriptionStore
    private let notices: LifecycleNotices
    private let defaultZone: String
    private let clock: any WallClock

    package init(store: SubscriptionStore, notices: LifecycleNotices, defaultZone: String, clock: any WallClock) {
        self.store = store
        self.notices = notices
        self.defaultZone = defaultZone
        self.clock = clock
    }

    package func words(for user: UserID) async throws -> VoiceAnswer {
        let now = clock.now
        let records = try await store.subscriptions(of: user.rawValue)
        guard !records.isEmpty else { return .silent(reason: "no_subscription") }
        for record in records {
            let isExpiring = try await store.session { session in
                try await session.isExpiring(record, now: now, defaultZone: defaultZone)
            }
            guard let event = Self.event(record, isExpiring: isExpiring, now: now) else { continue }
            let subject = LifecycleNotices.Subject(
                originalTransactionID: record.originalTransactionID,
                productID: record.productID,
                periodEnd: record.expiresAt
            )
            let audience = try await store.audience(of: user.rawValue, at: record.expiresAt)
            if case .catalog(let key, let variables) = notices.job(user, event, subject, audience).text {
                return .says(key: key, variables: variables)
            }
        }
        return .silent(reason: "nothing_new")
    }

    /// The event that a subscription's state stands for, `nil` for none that would be announced.
    /// - Parameter isExpiring: whether its end is near and is not to be renewed.
    static func event(_ record: SubscriptionRecord, isExpiring: Bool, now: Timestamp) -> LifecycleEvent? {
        guard record.environment == AppStoreEnvironment.production.rawValue, record.revokedAt == nil else { return nil }
        let event: LifecycleEvent? =
            switch record.status {
            case 1: isExpiring ? .subscriptionExpiring : nil
            case 2:
                record.expiresAt.map { $0 <= now && now - $0 <= LifecycleRules.freshness } == true
                    ? .subscriptionExpired : nil
            case 3: record.graceExpiresAt.map { $0 <= now } == true ? .gracePeriodExpired : .renewalFailed
            case 4: .renewalFailed
            default: nil
            }
        guard let event, !record.wasTold(event), !(record.isFamilyShared && event.isAboutPayment) else { return nil }
        return event
    }
}
