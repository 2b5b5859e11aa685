package import Kernel

/// Everything the gates ask about one job's user, read at one moment.
package struct Recipient: Sendable, Equatable {
    /// Whether any device of the user may be reached (`ios_permission_status`).
    package var isPermissionGranted: Bool
    /// Devices with a usable token.
    package var devices: [RecipientDevice]
    /// The end of the quiet week, if one is set.
    package var silenceUntil: Timestamp?
    /// What the user chose for the job's category, `nil` when never asked.
    package var categorySwitch: Bool?
    /// The user's BCP 47 language tag.
    package var language: String?
    /// Minutes since midnight on the user's wall, UTC where the zone is unknown.
    package var localMinute: Int
    /// The ISO week on the user's calendar, such as `2026-W53`.
    package var weekKey: String
    /// When the category's window opens next on the user's wall; `nil` for a category without one.
    package var nextOpening: Timestamp?
    /// Why the message was called back, if it was.
    package var cancellationReason: String?
    /// How many other messages the user has not read; `nil` when nobody asked (`PUSH_BADGE`).
    package var unread: Int?
    /// What an earlier run of the same message left behind.
    package var stored: StoredMessage?

    package init(
        isPermissionGranted: Bool = false,
        devices: [RecipientDevice] = [],
        silenceUntil: Timestamp? = nil,
        categorySwitch: Bool? = nil,
        language: String? = nil,
        localMinute: Int = 0,
        weekKey: String = "",
        nextOpening: Timestamp? = nil,
        cancellationReason: String? = nil,
        unread: Int? = nil,
        stored: StoredMessage? = nil
    ) {
        self.isPermissionGranted = isPermissionGranted
        self.devices = devices
        self.silenceUntil = silenceUntil
        self.categorySwitch = categorySwitch
        self.language = language
        self.localMinute = localMinute
        self.weekKey = weekKey
        self.nextOpening = nextOpening
        self.cancellationReason = cancellationReason
        self.unread = unread
        self.stored = stored
    }
}

/// One device of a user that a push may be sent to.
package struct RecipientDevice: Sendable, Equatable {
    /// The row's id, under which a message remembers what this device answered.
    package let id: Int64
    package let provider: PushProvider
    package let token: String
    package let environment: PushEnvironment
    /// The app's bundle id.
    package let topic: String
    /// When the device last told us this token.
    package let registeredAt: Timestamp

    package init(
        id: Int64,
        provider: PushProvider,
        token: String,
        environment: PushEnvironment,
        topic: String,
        registeredAt: Timestamp
    ) {
        self.id = id
        self.provider = provider
        self.token = token
        self.environment = environment
        self.topic = topic
        self.registeredAt = registeredAt
    }
}

/// Whose service carries a push.
package enum PushProvider: String, Sendable, CaseIterable {
    case apns
    case fcm
}

/// Which of Apple's two services a token belongs to.
package enum PushEnvironment: String, Sendable, CaseIterable {
    case production
    case sandbox
}
