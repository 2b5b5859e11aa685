package import Notifications

/// What a device tells about itself.
package struct DeviceRecord: Sendable, Equatable {
    /// The system's answer to "may this app push?", in the words of the column `devices.permission_status`.
    package enum Permission: String, Sendable, CaseIterable {
        case granted, provisional, ephemeral, denied, notDetermined
    }

    /// The app's own name for the device; no secret, often a model name.
    package var deviceID: String?
    package var provider: PushProvider
    package var platform: String
    /// Normalised; `nil` for a device that has none.
    package var token: String?
    package var environment: PushEnvironment
    /// The app's bundle id.
    package var topic: String
    /// `nil` leaves what is known; a token without one means granted.
    package var permission: Permission?
    /// An IANA name. One that the database does not know changes nothing.
    package var timezone: String?
    /// Starts Live Activities on the device (iOS 17.2 and later).
    package var pushToStartToken: String?
    /// The PushKit token for calls.
    package var voipToken: String?

    /// Whether the device told a token beside the one for notifications.
    var hasOtherTokens: Bool { pushToStartToken != nil || voipToken != nil }

    package init(
        deviceID: String?,
        provider: PushProvider,
        platform: String,
        token: String?,
        environment: PushEnvironment,
        topic: String,
        permission: Permission? = nil,
        timezone: String? = nil,
        pushToStartToken: String? = nil,
        voipToken: String? = nil
    ) {
        self.deviceID = deviceID
        self.provider = provider
        self.platform = platform
        self.token = token
        self.environment = environment
        self.topic = topic
        self.permission = permission
        self.timezone = timezone
        self.pushToStartToken = pushToStartToken
        self.voipToken = voipToken
    }
}
