package import Kernel
package import Notifications
package import Producers
package import Store

/// Reads what the words of a notice depend on. Throws `Unavailable` when the store does not answer.
package protocol LifecycleAudienceReading: Sendable {
    func audience(of user: UserID, at moment: Timestamp?) async throws -> SubscriptionAudience
}

/// What the route for lifecycle events stands on.
package struct LifecyclePorts: Sendable {
    package var notices: LifecycleNotices
    package var audience: any LifecycleAudienceReading

    package init(notices: LifecycleNotices, audience: any LifecycleAudienceReading) {
        self.notices = notices
        self.audience = audience
    }
}
