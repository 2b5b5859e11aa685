/// A message that wants one of its user's weekly slots.
public struct SlotRequest: Sendable, Equatable {
    /// Whose slot.
    public let userID: String
    /// The category the message belongs to.
    public let categoryID: String
    /// The user's own ISO week, such as `2026-W49`.
    public let weekKey: String
    /// Identifies the slot: the same message never takes a second one.
    public let messageID: String
    /// How many messages of the category a week may bring.
    public let categoryCap: Int
    /// How many messages of all categories a week may bring, or `nil` when this category does not count there.
    public let globalCap: Int?

    /// Describes one message.
    public init(
        userID: String,
        categoryID: String,
        weekKey: String,
        messageID: String,
        categoryCap: Int,
        globalCap: Int?
    ) {
        self.userID = userID
        self.categoryID = categoryID
        self.weekKey = weekKey
        self.messageID = messageID
        self.categoryCap = categoryCap
        self.globalCap = globalCap
    }
}

/// The answer for one message.
public enum SlotResult: Sendable, Equatable {
    /// Which cap was full.
    public enum Scope: String, Sendable {
        /// The cap of the message's category.
        case category
        /// The cap over all categories.
        case global
    }

    /// The slot is the message's now.
    case taken
    /// The message took its slot before.
    case alreadyTaken
    /// No slot is left; nothing was changed.
    case refused(Scope)
    /// Redis did not answer in time: the message may go, and its slot has to be taken by force later.
    case uncounted
}

/// How many slots of a week a user has used.
public struct SlotUsage: Sendable, Equatable {
    /// By category; categories without a used slot stand there with 0.
    public let categories: [String: Int]
    /// Over all categories that count together.
    public let global: Int

    /// Holds the numbers.
    public init(categories: [String: Int], global: Int) {
        self.categories = categories
        self.global = global
    }
}

/// Redis could not be asked, or answered with an error.
public struct RateLimiterError: Error, CustomStringConvertible {
    /// What happened.
    public let description: String
}
