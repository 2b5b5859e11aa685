package import Kernel
package import Notifications

/// What the gates look at: one message and its recipient.
package struct GateCandidate: Sendable {
    package let category: Category
    package let messageID: MessageID
    /// The moment the notification was meant for.
    package let due: Timestamp
    package let recipient: Recipient
    /// A campaign's test send, for which the switch is not asked.
    package let isTest: Bool

    package init(
        category: Category,
        messageID: MessageID,
        due: Timestamp,
        recipient: Recipient,
        isTest: Bool = false
    ) {
        self.category = category
        self.messageID = messageID
        self.due = due
        self.recipient = recipient
        self.isTest = isTest
    }

    /// The last moment at which the notification is welcome.
    package var deadline: Timestamp { due + category.timeToLive }
}

/// A gate's answer.
package enum GateAnswer: Sendable, Equatable {
    case proceed
    /// The message ends here.
    case drop(status: MessageStatus, reason: String)
    /// The message comes back later, without a row or a slot.
    case `defer`(until: Timestamp)
}

/// One question a message must pass: a pure function of the message, its recipient and the database's clock.
package struct Gate: Sendable {
    package let name: String
    package let judge: @Sendable (GateCandidate, Timestamp) -> GateAnswer
}
