import JobQueue
package import Kernel
package import NotificationBus
package import Notifications

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
        return try await asking {
            try await bus.enqueueNotifications(requests).map { receipt in
                NotificationReceipt(
                    messageID: receipt.messageID,
                    jobID: receipt.jobID,
                    isDuplicate: receipt.isDuplicate
                )
            }
        }
    }

    package func takeBack(_ ids: [MessageID]) async throws -> WithdrawnNotification {
        try await asking { WithdrawnNotification(try await bus.takeBack(ids)) }
    }

    package func move(_ ids: [MessageID], to newID: MessageID, due: Timestamp) async throws -> WithdrawnNotification {
        try await asking { WithdrawnNotification(try await bus.move(ids, to: newID, due: due)) }
    }

    /// Tells a queue that does not answer from one that answers with an error, which is a fault of ours.
    private func asking<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as JobQueueError where error.code == .redis {
            throw Unavailable(dependency: "redis", reason: error.description)
        }
    }
}

extension WithdrawnNotification {
    fileprivate init(_ result: TakingBack) {
        self =
            switch result {
            case .done(let id): MessageID(id).map(WithdrawnNotification.done) ?? .missing
            case .missing: .missing
            case .begun: .waitingAgain
            case .active, .ended, .related: .active
            }
    }
}
