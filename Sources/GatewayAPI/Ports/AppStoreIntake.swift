package import Notifications
package import Producers

/// What becomes of a user's claim to a subscription.
package enum SubscriptionClaim: Sendable, Equatable {
    /// It is the user's already.
    case linked
    /// The lifecycle producer decides.
    case accepted
    /// It is another user's.
    case foreign
}

/// Where verified notifications and claims are kept. Every call throws `Unavailable` when the store does not answer.
package protocol AppStoreIntake: Sendable {
    /// Keeps a notification, and has it processed.
    /// - Returns: `false` when it was kept before.
    func receive(_ notification: AppStoreNotification, signedPayload: String) async throws -> Bool
    /// Keeps a user's claim, unless it is decided.
    func claim(
        _ transaction: AppStoreTransaction,
        _ environment: AppStoreEnvironment,
        user: UserID
    ) async throws -> SubscriptionClaim
}

/// What the App Store's routes stand on.
package struct AppStorePorts: Sendable {
    package var verifier: AppStoreVerifier
    package var intake: any AppStoreIntake

    package init(verifier: AppStoreVerifier, intake: any AppStoreIntake) {
        self.verifier = verifier
        self.intake = intake
    }
}
