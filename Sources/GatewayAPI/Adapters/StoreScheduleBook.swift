package import Kernel
import NotificationContract
package import Notifications
package import Store

/// Scheduled notifications in PostgreSQL.
package struct StoreScheduleBook: ScheduleBook {
    private let store: ScheduleStore

    package init(_ store: ScheduleStore) {
        self.store = store
    }

    package func record(_ orders: [NotificationOrder], credential: String) async throws {
        let entries = orders.compactMap { order in
            order.scheduledFor.map { due in
                ScheduleStore.Entry(
                    messageID: order.messageID,
                    userID: order.job.userID,
                    category: order.job.category.rawValue,
                    dueAt: due
                )
            }
        }
        try await asking { try await store.record(entries, credential: credential) }
    }

    package func schedule(of id: MessageID, credential: String) async throws -> ScheduledNotification? {
        try await asking { try await store.schedule(of: id, credential: credential) }.map { found in
            ScheduledNotification(
                ids: found.ids,
                userID: found.userID,
                category: found.category,
                isCancelled: found.isCancelled
            )
        }
    }

    package func addMove(of id: MessageID, to newID: MessageID, due: Timestamp) async throws -> Bool {
        try await asking { try await store.addMove(of: id, to: newID, due: due) }
    }

    package func hasBegun(_ ids: [MessageID]) async throws -> Bool {
        try await asking { try await store.hasBegun(ids) }
    }

    package func callBack(
        _ ids: [MessageID],
        before moment: Timestamp,
        reason: String,
        isFinal: Bool,
        event: DeliveryEvent?
    ) async throws {
        try await asking {
            try await store.callBack(
                ids,
                before: moment,
                reason: reason,
                isFinal: isFinal,
                events: event.map { [$0] } ?? []
            )
        }
    }
}
