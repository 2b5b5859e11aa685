package import Kernel
package import Notifications

/// One call of `enqueueNotification`.
package struct NotificationRequest: Sendable {
    package var job: NotificationJob
    /// When it is meant to appear; `nil` or a past moment for now, at most 90 days ahead.
    package var scheduledFor: Timestamp?
    /// BullMQ priority 1 to 2,097,151; `nil` for the category's own.
    package var priority: Int?
    /// The message's id where the caller has one: producers with a deterministic source, and repeats of a request.
    package var messageID: MessageID?

    package init(
        job: NotificationJob,
        scheduledFor: Timestamp? = nil,
        priority: Int? = nil,
        messageID: MessageID? = nil
    ) {
        self.job = job
        self.scheduledFor = scheduledFor
        self.priority = priority
        self.messageID = messageID
    }
}

/// The answer to one enqueued notification.
package struct EnqueueReceipt: Sendable, Equatable {
    package let messageID: MessageID
    package let jobID: String
    /// Whether a job of this id was in the queue already, so that nothing was added.
    package let isDuplicate: Bool
}
