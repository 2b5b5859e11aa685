/// What a device tells the gateway about itself.
public struct DeviceRegistration: Sendable, Equatable, Codable {
    /// The push token: hexadecimal from Apple, opaque from Firebase; `nil` while there is none.
    public var token: String?
    /// Such as `ios`.
    public var platform: String
    /// The app's own name for the device: the same across starts, at most 256 bytes.
    public var deviceID: String
    /// IANA name of the device's time zone.
    public var timezone: String?
    /// ActivityKit's push-to-start token in hexadecimal.
    public var pushToStartToken: String?
    /// What the system says about permission.
    public var permission: PushPermission?

    /// Describes a device.
    public init(
        token: String? = nil,
        platform: String = "ios",
        deviceID: String,
        timezone: String? = nil,
        pushToStartToken: String? = nil,
        permission: PushPermission? = nil
    ) {
        self.token = token
        self.platform = platform
        self.deviceID = deviceID
        self.timezone = timezone
        self.pushToStartToken = pushToStartToken
        self.permission = permission
    }

    private enum CodingKeys: String, CodingKey {
        case token, platform, timezone
        case deviceID = "deviceId"
        case pushToStartToken = "liveActivityPushToStartToken"
        case permission = "permissionStatus"
    }
}
