package import Kernel
package import Notifications

/// A notification that was handed in with a time ahead.
package struct ScheduledNotification: Sendable, Equatable {
    /// Every id that it has or had, the newest first; its job is queued under one of them.
    package var ids: [MessageID]
    package var userID: String
    package var category: String
    package var isCancelled: Bool

    package init(ids: [MessageID], userID: String, category: String, isCancelled: Bool) {
        self.ids = ids
        self.userID = userID
        self.category = category
        self.isCancelled = isCancelled
    }
}

/// Remembers which credential handed in what for later. Every call throws `Unavailable` when the store does not answer.
package protocol ScheduleBook: Sendable {
    /// Remembers orders before they are enqueued. Repeating it is harmless.
    func record(_ orders: [NotificationOrder], credential: String) async throws
    /// - Returns: `nil` for one that is not known or was handed in with another credential.
    func schedule(of id: MessageID, credential: String) async throws -> ScheduledNotification?
    /// Remembers the id that a notification is about to get.
    /// - Returns: whether the notification is there and was not called back.
    func addMove(of id: MessageID, to newID: MessageID, due: Timestamp) async throws -> Bool
    /// Whether any of these messages was written or has ended.
    func hasBegun(_ ids: [MessageID]) async throws -> Bool
    /// Calls messages back, so that a job which is or comes again into the queue under these ids ends as cancelled.
    /// - Parameters:
    ///   - isFinal: whether the notification as a whole is called back, and not only ids that it no longer has.
    ///   - event: what is to be told of it.
    func callBack(_ ids: [MessageID], before moment: Timestamp, reason: String, isFinal: Bool, event: DeliveryEvent?)
        async throws
}
