package import NotificationContract
package import Notifications

/// A message row that an upkeep looks at.
package struct UpkeptMessage: Sendable, Equatable {
    package let id: MessageID
    package let userID: String
    package let category: CategoryID
    /// The week whose slots it holds, or should.
    package let weekKey: String?
    /// Whether its slot is its own: false for a message that ended without reaching anybody.
    package let keepsSlot: Bool

    package init(id: MessageID, userID: String, category: CategoryID, weekKey: String?, keepsSlot: Bool) {
        self.id = id
        self.userID = userID
        self.category = category
        self.weekKey = weekKey
        self.keepsSlot = keepsSlot
    }
}

/// Finds and mends rows that no run will come back to. Every call is bounded and safe with several workers at once.
package protocol MessageUpkeep: Sendable {
    /// Rows that are still pending so long after they were due: their job is gone. `ages` is the time for each category;
    /// other categories get the longest of them.
    /// - Parameter lookBack: rows that are older are not searched for.
    func lost(ages: [CategoryID: Duration], lookBack: Duration, limit: Int) async throws -> [UpkeptMessage]
    /// Ends those of the rows that are still pending, as lost, with an event for each, and notes the slots of those that reached
    /// nobody as debts.
    /// - Returns: what became of how many.
    func endLost(_ ids: [MessageID]) async throws -> [OutcomeCount: Int]
    /// Messages that went out uncounted.
    func uncounted(limit: Int) async throws -> [UpkeptMessage]
    /// Notes that the slots were taken of those messages that still stand as they were found.
    /// - Returns: which those were.
    func markCounted(_ found: [UpkeptMessage]) async throws -> Set<MessageID>
}
