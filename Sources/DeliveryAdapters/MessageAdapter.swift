package import DeliveryEngine
import NotificationContract
package import Notifications
package import Store

/// The engine's writing port over the store.
package struct MessageAdapter: MessageWriting {
    private let store: MessageStore

    package init(store: MessageStore) {
        self.store = store
    }

    package func write(_ messages: [NewMessage], reopening: Set<MessageID>) async throws -> [WriteResult] {
        let rows = messages.map { message in
            MessageStore.Row(
                id: message.id,
                userID: message.userID,
                category: message.category.rawValue,
                title: message.text.title,
                body: message.text.body,
                deeplinkURL: message.deeplinkURL,
                metadata: message.metadata,
                sourceEntityID: message.sourceEntityID,
                batchReference: message.batchReference,
                language: message.language,
                jobID: message.jobID,
                weekKey: message.weekKey,
                isCapOpen: message.isCapOpen,
                enqueuedAt: message.enqueuedAt,
                dueAt: message.dueAt,
                isTest: message.isTest
            )
        }
        return try await store.write(rows, reopening: reopening).map { result in
            switch result {
            case .written: .written
            case .existed: .existed
            case .refused(let sqlState): .refused(reason: "invalid_row_\(sqlState)")
            }
        }
    }
}
