import JobQueue
package import NotificationBus

/// The bus as the gateway's way to the queue.
package struct BusDoor: NotificationDoor {
    private let bus: NotificationBus

    package init(_ bus: NotificationBus) {
        self.bus = bus
    }

    package func enqueue(_ orders: [NotificationOrder]) async throws -> [NotificationReceipt] {
        let requests = orders.map { order in
            NotificationRequest(
                job: order.job,
                scheduledFor: order.scheduledFor,
                priority: order.priority,
                messageID: order.messageID
            )
        }
        do {
            return try await bus.enqueueNotifications(requests).map { receipt in
                NotificationReceipt(
                    messageID: receipt.messageID,
                    jobID: receipt.jobID,
                    isDuplicate: receipt.isDuplicate
                )
            }
        } catch let error as JobQueueError where error.code == .redis {
            throw Unavailable(dependency: "redis", reason: error.description)
        }
    }
}
