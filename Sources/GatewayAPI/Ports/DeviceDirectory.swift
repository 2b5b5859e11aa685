package import Notifications

/// What the system says about push permission.
package enum PermissionStatus: String, Sendable, CaseIterable {
    case granted, provisional, ephemeral, denied, notDetermined
}

/// What a device tells about itself.
package struct DeviceRegistration: Sendable, Equatable {
    /// The app's own name for the device; no secret, often a model name.
    package var deviceID: String?
    package var provider: PushProvider
    package var platform: String
    /// Normalised; `nil` for a device that has none.
    package var token: String?
    package var environment: PushEnvironment
    /// The app's bundle id.
    package var topic: String
    /// `nil` when neither said nor to be concluded from a token.
    package var permission: PermissionStatus?
    package var timezone: String?
    package var pushToStartToken: String?
    /// The PushKit token for calls.
    package var voipToken: String?

    package init(
        deviceID: String?,
        provider: PushProvider,
        platform: String,
        token: String?,
        environment: PushEnvironment,
        topic: String,
        permission: PermissionStatus?,
        timezone: String?,
        pushToStartToken: String?,
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

/// Devices and whom they belong to. Every call throws `Unavailable` when the store does not answer.
package protocol DeviceDirectory: Sendable {
    /// Ties a device to a user: takes over the token wherever it stands, replaces the token of the same device id, updates the
    /// user's time zone and permission.
    func register(_ device: DeviceRegistration, for user: UserID) async throws
    /// Creates or renews a row tied to nobody, found by its token. Never touches a row that is tied to a user. Without a
    /// token there is nothing to do.
    func registerAnonymously(_ device: DeviceRegistration) async throws
    /// Removes the user's own device with this token; any other token is left alone.
    func unregister(token: String, provider: PushProvider, of user: UserID) async throws
}
