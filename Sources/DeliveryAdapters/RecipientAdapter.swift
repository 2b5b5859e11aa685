package import DeliveryEngine
import NotificationContract
package import Store

/// The engine's recipients port over the store.
package struct RecipientAdapter: RecipientReading {
    private let store: RecipientStore

    package init(store: RecipientStore) {
        self.store = store
    }

    package func recipients(for queries: [RecipientQuery]) async throws -> RecipientBatch {
        let (now, recipients) = try await store.recipients(
            for: queries.map { query in
                RecipientStore.Query(
                    messageID: query.messageID,
                    userID: query.userID,
                    category: query.category.rawValue,
                    sourceEntityID: query.sourceEntityID,
                    enqueuedAt: query.enqueuedAt,
                    openingMinute: query.openingMinute
                )
            }
        )
        return RecipientBatch(now: now, recipients: recipients)
    }
}
