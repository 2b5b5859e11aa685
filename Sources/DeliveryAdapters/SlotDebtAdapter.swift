package import DeliveryEngine
import NotificationContract
import Notifications
package import Store

/// The engine's port of slots still to be freed, over the store.
package struct SlotDebtAdapter: SlotDebtKeeping {
    private let store: SlotDebtStore

    package init(store: SlotDebtStore) {
        self.store = store
    }

    package func owe(_ debts: [SlotDebt]) async throws {
        try await store.owe(
            debts.map { debt in
                SlotDebtStore.Debt(
                    messageID: debt.messageID,
                    userID: debt.userID.rawValue,
                    category: debt.category.rawValue,
                    weekKey: debt.weekKey
                )
            }
        )
    }

    package func forget(_ debts: [SlotDebt]) async throws {
        try await store.forget(debts.map { ($0.messageID, $0.weekKey) })
    }

    package func settle(limit: Int, by free: @Sendable ([SlotDebt]) async throws -> Void) async throws -> Int {
        try await store.settle(limit: limit) { debts in
            try await free(
                debts.compactMap { debt in
                    guard let user = UserID(debt.userID) else { return nil }
                    return SlotDebt(
                        messageID: debt.messageID,
                        userID: user,
                        category: CategoryID(debt.category),
                        weekKey: debt.weekKey
                    )
                }
            )
        }
    }
}
