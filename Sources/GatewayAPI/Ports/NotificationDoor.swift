package import Kernel
package import Notifications

/// A notification to be handed to the bus.
package struct NotificationOrder: Sendable, Equatable {
    package var job: NotificationJob
    package var messageID: MessageID
    /// When it is due; `nil` or past means now.
    package var scheduledFor: Timestamp?
    /// BullMQ's priority from 1; `nil` for the category's own.
    package var priority: Int?

    package init(job: NotificationJob, messageID: MessageID, scheduledFor: Timestamp? = nil, priority: Int? = nil) {
        self.job = job
        self.messageID = messageID
        self.scheduledFor = scheduledFor
        self.priority = priority
    }
}

/// The bus's answer to one order.
package struct NotificationReceipt: Sendable, Equatable {
    package var messageID: MessageID
    package var jobID: String
    /// The job was there already.
    package var isDuplicate: Bool

    package init(messageID: MessageID, jobID: String, isDuplicate: Bool) {
        self.messageID = messageID
        self.jobID = jobID
        self.isDuplicate = isDuplicate
    }
}

/// What the queue says to a try to take a notification back.
package enum WithdrawnNotification: Sendable, Equatable {
    /// The job of this id was taken back.
    case done(MessageID)
    /// None of the ids names a job.
    case missing
    /// It is being delivered, or has ended.
    case active
    /// It was taken up before and waits to be run again.
    case waitingAgain
}

/// The one way from the gateway to the queue.
package protocol NotificationDoor: Sendable {
    /// Hands over all orders. Repeating an order with the same message id is harmless.
    /// - Returns: one receipt an order, in order.
    /// - Throws: `Unavailable` when the queue does not answer; some orders may have been taken.
    func enqueue(_ orders: [NotificationOrder]) async throws -> [NotificationReceipt]
    /// Takes a notification out of the queue that nobody has taken up.
    /// - Parameter ids: the ids it may have.
    func takeBack(_ ids: [MessageID]) async throws -> WithdrawnNotification
    /// Gives a notification that nobody has taken up another id and due time, in one step.
    func move(_ ids: [MessageID], to newID: MessageID, due: Timestamp) async throws -> WithdrawnNotification
}
