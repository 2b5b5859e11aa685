package import Kernel
package import Notifications

/// One time zone at one moment.
package struct ReminderZone: Sendable, Equatable {
    package let name: String
    /// Minutes since midnight on the wall.
    package let localMinute: Int
    /// The ISO week on the wall, such as `2026-W53`.
    package let weekKey: String
    /// Day and hour on the wall, such as `7T08` for Sunday at eight.
    package let hour: String

    package init(name: String, localMinute: Int, weekKey: String, hour: String) {
        self.name = name
        self.localMinute = localMinute
        self.weekKey = weekKey
        self.hour = hour
    }
}

/// A row of `reminder_weeks` to be written.
package struct ReminderClaim: Sendable, Equatable {
    package let userID: UserID
    package let weekKey: String
    package let messageID: MessageID
    /// 1 to 4.
    package let step: Int

    package init(userID: UserID, weekKey: String, messageID: MessageID, step: Int) {
        self.userID = userID
        self.weekKey = weekKey
        self.messageID = messageID
        self.step = step
    }
}

/// A claim that an earlier run left behind, with what is known of its user now.
package struct AbandonedReminder: Sendable, Equatable {
    package let userID: UserID
    package let weekKey: String
    package let messageID: MessageID
    package let lastActivity: Timestamp

    package init(userID: UserID, weekKey: String, messageID: MessageID, lastActivity: Timestamp) {
        self.userID = userID
        self.weekKey = weekKey
        self.messageID = messageID
        self.lastActivity = lastActivity
    }
}
