package import Kernel
package import NotificationBus
import NotificationContract
package import Notifications
package import Store

/// Makes a reminder of a user who is due.
package struct ReminderMessage: Sendable {
    private let identity: MessageIdentity

    package init(identity: MessageIdentity) {
        self.identity = identity
    }

    /// The claim of a week for a user, `nil` when there is nothing to say.
    ///
    /// The message id is fixed by the user, the week, and the hour on the user's wall: a second machine makes the same one, and
    /// a reminder that expired and is decided anew makes another, which no queue takes for the old one.
    package func claim(_ user: UserID, lastActivity: Timestamp, zone: ReminderZone, now: Timestamp) -> ReminderClaim? {
        guard let phrase = ReminderRule.phrase(days: ReminderRule.days(since: lastActivity, at: now)),
            let week = ISOWeek(zone.weekKey)
        else { return nil }
        let id = identity.messageID(
            kind: CategoryID.reminder.rawValue,
            key: "\(user) \(zone.weekKey) \(zone.hour)",
            instant: week.monday
        )
        return ReminderClaim(userID: user, weekKey: zone.weekKey, messageID: id, step: phrase.step)
    }

    /// What goes to the bus, `nil` when there is nothing to say.
    package func request(
        _ user: UserID,
        id: MessageID,
        lastActivity: Timestamp,
        now: Timestamp
    ) -> NotificationRequest? {
        guard let phrase = ReminderRule.phrase(days: ReminderRule.days(since: lastActivity, at: now)) else {
            return nil
        }
        return NotificationRequest(
            job: NotificationJob(
                userID: user,
                category: .reminder,
                text: .catalog(key: phrase.key, variables: [:])
            ),
            messageID: id
        )
    }
}
