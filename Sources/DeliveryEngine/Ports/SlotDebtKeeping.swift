package import NotificationContract
package import Notifications

/// A weekly slot that is to be freed.
package struct SlotDebt: Sendable, Equatable {
    package let messageID: MessageID
    package let userID: UserID
    package let category: CategoryID
    package let weekKey: String

    package init(messageID: MessageID, userID: UserID, category: CategoryID, weekKey: String) {
        self.messageID = messageID
        self.userID = userID
        self.category = category
        self.weekKey = weekKey
    }

    init(_ claim: CapClaim) {
        self.init(
            messageID: claim.messageID,
            userID: claim.userID,
            category: claim.category,
            weekKey: claim.weekKey
        )
    }
}

/// Remembers slots that could not be freed, beyond the life of the worker that owes them.
package protocol SlotDebtKeeping: Sendable {
    /// Notes slots to be freed. Noting one twice is harmless.
    func owe(_ debts: [SlotDebt]) async throws
    /// Forgets debts whose slots are about to be taken anew: settled afterwards, they would free a slot that is used. Returns only
    /// when nobody is settling them any more.
    func forget(_ debts: [SlotDebt]) async throws
    /// Frees up to `limit` of the debts and forgets them; all stay when `free` throws.
    /// - Returns: how many were settled.
    func settle(limit: Int, by free: @Sendable ([SlotDebt]) async throws -> Void) async throws -> Int
}
