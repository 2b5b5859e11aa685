package import Kernel
package import Notifications

/// Which users of one zone a reminder is for.
package struct ReminderSearch: Sendable {
    /// Where the next page begins: behind this user.
    package struct Cursor: Sendable, Equatable {
        package let lastActivity: Timestamp
        package let userID: String

        package init(lastActivity: Timestamp, userID: String) {
            self.lastActivity = lastActivity
            self.userID = userID
        }
    }

    /// A user to be reminded.
    package struct Found: Sendable, Equatable {
        package let userID: UserID
        package let lastActivity: Timestamp
        /// The user's BCP 47 language tag.
        package let language: String?
    }

    package let zone: ReminderZone
    package let now: Timestamp
    /// Users who were last active after this moment …
    package let after: Timestamp
    /// … up to and including this one.
    package let upTo: Timestamp
    package let category: String
    /// What a user who never chose gets.
    package let isEnabledByDefault: Bool

    package init(
        zone: ReminderZone,
        now: Timestamp,
        after: Timestamp,
        upTo: Timestamp,
        category: String,
        isEnabledByDefault: Bool
    ) {
        self.zone = zone
        self.now = now
        self.after = after
        self.upTo = upTo
        self.category = category
        self.isEnabledByDefault = isEnabledByDefault
    }
}
