package import Kernel
package import Notifications

/// One push to one device.
package struct PushRequest: Sendable {
    /// `apns-collapse-id`.
    package enum Collapse: Sendable, Equatable {
        /// The message id.
        case message
        /// None: each push stands for itself, as with calls and activities.
        case none
        /// At most 64 bytes of UTF-8.
        case id(String)
    }

    /// The token as the device reported it; it is normalised before it is sent.
    package var deviceToken: String
    package var environment: PushEnvironment
    /// The app's bundle id; the push type's suffix is added when it is missing.
    package var topic: String
    /// The `apns-id`, the same in every repetition.
    package var messageID: UUIDBits
    /// What the device replaces; by default the message itself, so that a repeated send shows one notification.
    package var collapse = Collapse.message
    /// The JSON body in Apple's form, ready to send; FCM's is made of it.
    package var payload: [UInt8]
    package var priority: PushPriority
    /// When Apple should stop trying, `nil` for Apple's own policy (up to 30 days).
    package var expiration: Timestamp?
    package var pushType: PushType
    package var provider: PushProvider

    package init(
        deviceToken: String,
        environment: PushEnvironment,
        topic: String,
        messageID: UUIDBits,
        payload: [UInt8],
        priority: PushPriority = .immediate,
        expiration: Timestamp? = nil,
        pushType: PushType = .alert,
        provider: PushProvider = .apns
    ) {
        self.deviceToken = deviceToken
        self.environment = environment
        self.topic = topic
        self.messageID = messageID
        self.payload = payload
        self.priority = priority
        self.expiration = expiration
        self.pushType = pushType
        self.provider = provider
    }
}

/// `apns-priority`.
package enum PushPriority: Int, Sendable, CaseIterable {
    /// At once.
    case immediate = 10
    /// As the device's power allows.
    case considerate = 5
    /// Never wakes the device.
    case low = 1
}
