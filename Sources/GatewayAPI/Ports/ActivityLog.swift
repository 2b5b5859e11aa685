package import Kernel
package import Notifications

/// A user did something in the app that counts as activity.
package struct ActivityReport: Sendable, Equatable {
    package var userID: UserID
    package var at: Timestamp

    package init(userID: UserID, at: Timestamp) {
        self.userID = userID
        self.at = at
    }
}

/// When users were last active.
package protocol ActivityLog: Sendable {
    /// Records reports; an older one than what is known changes nothing, so repeating is harmless.
    /// - Throws: `Unavailable` when the store does not answer.
    func record(_ reports: [ActivityReport]) async throws
}
