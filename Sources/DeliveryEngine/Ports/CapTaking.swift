package import NotificationContract
package import Notifications

/// A request for a weekly slot.
package struct CapClaim: Sendable, Equatable {
    package let messageID: MessageID
    package let userID: UserID
    package let category: CategoryID
    package let weekKey: String
    /// How many of the category a user may get in the week.
    package let categoryCap: Int
    /// How many over all categories, `nil` when the category does not count toward it.
    package let globalCap: Int?

    package init(
        messageID: MessageID,
        userID: UserID,
        category: CategoryID,
        weekKey: String,
        categoryCap: Int,
        globalCap: Int?
    ) {
        self.messageID = messageID
        self.userID = userID
        self.category = category
        self.weekKey = weekKey
        self.categoryCap = categoryCap
        self.globalCap = globalCap
    }
}

/// The answer to one claim.
package enum CapAnswer: Sendable, Equatable {
    /// The message holds its slots, taken now or in an earlier run.
    case taken
    case categoryFull
    case globalFull
    /// The caps could not be asked in time; the message goes on uncounted.
    case uncounted
}

/// Weekly slots, taken and given back by message id, so that no repetition counts twice.
package protocol CapTaking: Sendable {
    /// Judges the claims in order. Never throws: caps that cannot be asked answer `uncounted`.
    func take(_ claims: [CapClaim]) async -> [CapAnswer]
    /// Takes slots above the caps, for messages that went out uncounted.
    /// - Returns: whether all of them are taken now; false when the caps still cannot be asked.
    func takeByForce(_ claims: [CapClaim]) async -> Bool
    /// Frees the slots of messages that reached nobody. Giving back twice is harmless.
    /// - Throws: when the caps cannot be asked; some slots may have been freed.
    func giveBack(_ claims: [CapClaim]) async throws
}
