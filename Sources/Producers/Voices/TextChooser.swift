package import NotificationContract
package import Notifications

/// What a chooser is asked.
package struct TextOccasion: Sendable, Equatable {
    package let userID: UserID
    package let category: CategoryID
    /// The catalog's keys it may choose from.
    package let candidates: [String]

    package init(userID: UserID, category: CategoryID, candidates: [String]) {
        self.userID = userID
        self.category = category
        self.candidates = candidates
    }
}

/// The place of a language model in a category whose `usesAI` is set.
///
/// It may read what it likes to decide what fits this user; it answers with the key of a text that a person wrote. It cannot write:
/// its own words could tell a lock screen what it read, and no check of words can rule that out (P10).
package protocol TextChooser: Sendable {
    func choose(_ occasion: TextOccasion) async throws -> String
}
