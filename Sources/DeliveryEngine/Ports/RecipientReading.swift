package import Kernel
package import NotificationContract
package import Notifications

/// What the engine asks about one job.
package struct RecipientQuery: Sendable {
    package let messageID: MessageID
    package let userID: UserID
    package let category: CategoryID
    package let sourceEntityID: String?
    /// When the job was created: an older cancellation does not touch it.
    package let enqueuedAt: Timestamp
    /// The minute of the local day at which the category's window opens, `nil` for no window.
    package let openingMinute: Int?

    package init(
        messageID: MessageID,
        userID: UserID,
        category: CategoryID,
        sourceEntityID: String?,
        enqueuedAt: Timestamp,
        openingMinute: Int?
    ) {
        self.messageID = messageID
        self.userID = userID
        self.category = category
        self.sourceEntityID = sourceEntityID
        self.enqueuedAt = enqueuedAt
        self.openingMinute = openingMinute
    }
}

/// The answers of one read: the recipients in the order of the queries, and the one clock all decisions use.
package struct RecipientBatch: Sendable {
    package let now: Timestamp
    package let recipients: [Recipient]

    package init(now: Timestamp, recipients: [Recipient]) {
        self.now = now
        self.recipients = recipients
    }
}

/// Reads users, devices and earlier runs for a group of jobs in one round trip.
package protocol RecipientReading: Sendable {
    /// - Throws: when the store cannot be asked; nothing was decided then.
    func recipients(for queries: [RecipientQuery]) async throws -> RecipientBatch
}
