package import Kernel

/// One line of a message's story, kept for the question "why did this user get nothing?".
package struct DeliveryEvent: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        case enqueued, sent, suppressed, deferred, retrying, unknown, failed, expired, cancelled, duplicate
        case tokenInvalidated = "token_invalidated"
        case permissionRevoked = "permission_revoked"
        case lockLost = "lock_lost"
    }

    package var kind: Kind
    package var messageID: MessageID
    /// The user id as the job gave it, which may break the rule when the job was refused for that.
    package var userID: String
    package var category: String?
    package var jobID: String
    /// How often the job was taken from the queue.
    package var attemptsStarted: Int
    /// The delivery attempt, 0 before the first.
    package var attempt: Int
    package var at: Timestamp
    /// The gate that decided.
    package var gate: String?
    package var reason: String?
    /// The device's row id and the first characters of its token.
    package var device: String?
    /// Further facts, such as timings.
    package var detail: JSONValue?

    package init(
        kind: Kind,
        messageID: MessageID,
        userID: String,
        category: String?,
        jobID: String,
        attemptsStarted: Int,
        attempt: Int,
        at: Timestamp,
        gate: String? = nil,
        reason: String? = nil,
        device: String? = nil,
        detail: JSONValue? = nil
    ) {
        self.kind = kind
        self.messageID = messageID
        self.userID = userID
        self.category = category
        self.jobID = jobID
        self.attemptsStarted = attemptsStarted
        self.attempt = attempt
        self.at = at
        self.gate = gate
        self.reason = reason
        self.device = device
        self.detail = detail
    }
}
