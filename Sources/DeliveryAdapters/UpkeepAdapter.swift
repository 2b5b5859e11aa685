package import DeliveryEngine
package import NotificationContract
package import Notifications
package import Store

/// The engine's upkeep port over the store.
package struct UpkeepAdapter: MessageUpkeep {
    private let store: UpkeepStore

    package init(store: UpkeepStore) {
        self.store = store
    }

    package func lost(ages: [CategoryID: Duration], lookBack: Duration, limit: Int) async throws -> [UpkeptMessage] {
        let named = Dictionary(ages.map { ($0.key.rawValue, $0.value) }, uniquingKeysWith: { first, _ in first })
        return try await store.lost(ages: named, lookBack: lookBack, limit: limit).map(Self.message)
    }

    package func endLost(_ ids: [MessageID]) async throws -> [OutcomeCount: Int] {
        let ended = try await store.endLost(ids)
        return Dictionary(
            ended.map { (OutcomeCount(category: $0.category, outcome: $0.status), $0.count) },
            uniquingKeysWith: +
        )
    }

    package func uncounted(limit: Int) async throws -> [UpkeptMessage] {
        try await store.uncounted(limit: limit).map(Self.message)
    }

    package func markCounted(_ found: [UpkeptMessage]) async throws -> Set<MessageID> {
        let rows = found.map { message in
            UpkeepStore.Message(
                id: message.id,
                userID: message.userID,
                category: message.category.rawValue,
                weekKey: message.weekKey,
                keepsSlot: message.keepsSlot
            )
        }
        return try await store.markCounted(rows)
    }

    private static func message(_ row: UpkeepStore.Message) -> UpkeptMessage {
        UpkeptMessage(
            id: row.id,
            userID: row.userID,
            category: CategoryID(row.category),
            weekKey: row.weekKey,
            keepsSlot: row.keepsSlot
        )
    }
}
