package import Kernel
package import Notifications

/// One push to one device.
package struct DevicePush: Sendable {
    package let device: RecipientDevice
    package let messageID: MessageID
    package let payload: [UInt8]
    /// 10, 5 or 1 (`apns-priority`).
    package let priority: Int
    /// When the provider should stop trying.
    package let expiration: Timestamp

    package init(device: RecipientDevice, messageID: MessageID, payload: [UInt8], priority: Int, expiration: Timestamp)
    {
        self.device = device
        self.messageID = messageID
        self.payload = payload
        self.priority = priority
        self.expiration = expiration
    }
}

/// What the provider said, in the engine's words.
package enum SendResult: Sendable, Equatable {
    case accepted
    /// The token is gone; `at` is the provider's own timestamp, if it gave one.
    case dead(reason: String, at: Timestamp?)
    /// Refused for good, the token stays.
    case rejected(reason: String)
    /// An answered failure that may pass; counts as an attempt.
    case retry(reason: String, after: Duration?)
    /// This token is asked to slow down; does not count as an attempt.
    case throttled(reason: String, after: Duration?)
    /// It may have been taken; counts as an attempt.
    case unknown(reason: String)
    /// It provably was not processed: an outage or a stopped pool of ours. Does not count as an attempt.
    case notSent(reason: String, after: Duration?)
}

/// Carries pushes to providers.
package protocol PushSending: Sendable {
    /// Sends one push; `completion` is called exactly once, on any thread.
    func send(_ push: DevicePush, completion: @escaping @Sendable (SendResult) -> Void)
}
