import HTTPServer
package import Notifications

/// What a registration means when it does not say so.
package struct DeviceDefaults: Sendable {
    package var environment: PushEnvironment
    package var topic: String

    package init(environment: PushEnvironment, topic: String) {
        self.environment = environment
        self.topic = topic
    }
}

extension DeviceRegistration {
    /// Reads the body of a registration.
    /// - Throws: 415 and 400 for a body that is no JSON, 422 with every fault.
    init(reading request: HTTPRequest, defaults: DeviceDefaults) throws(Problem) {
        var body = try BodyReader(request)
        let given = body.text("token", limit: PushToken.limit)
        let deviceID = body.text("deviceId", limit: 256)
        let platform = body.text("platform", limit: 32)
        let provider = body.choice("provider", PushProvider.self)
        let environment = body.choice("environment", PushEnvironment.self)
        let topic = body.text("topic", limit: 255)
        let permission = body.choice("permissionStatus", PermissionStatus.self)
        let timezone = body.text("timezone", limit: 64)
        let pushToStart = body.text("liveActivityPushToStartToken", limit: PushToken.limit)
        let voip = body.text("voipToken", limit: PushToken.limit)
        if let given, provider == .apns, !given.isEmpty, PushToken.provider(of: given) != .apns {
            body.report("token", "must be an APNs token: an even number of at least 64 hexadecimal digits")
        }
        try body.finish()

        let token = given.flatMap { $0.isEmpty ? nil : $0 }
        let carrier = provider ?? token.map(PushToken.provider(of:)) ?? .apns
        self.init(
            deviceID: deviceID.nonEmpty,
            provider: carrier,
            platform: platform.nonEmpty ?? "ios",
            token: token.map { PushToken.normalised($0, carrier) },
            environment: environment ?? defaults.environment,
            topic: topic.nonEmpty ?? defaults.topic,
            permission: permission ?? (token == nil ? nil : .granted),
            timezone: timezone.nonEmpty,
            pushToStartToken: pushToStart.nonEmpty.map { PushToken.normalised($0, PushToken.provider(of: $0)) },
            voipToken: voip.nonEmpty.map { PushToken.normalised($0, PushToken.provider(of: $0)) }
        )
    }
}

/// Rules for push tokens.
enum PushToken {
    /// The longest token in bytes.
    static let limit = 4096

    /// APNs tokens are an even number of at least 64 hexadecimal digits; whatever else is FCM's.
    static func provider(of token: String) -> PushProvider {
        let utf8 = token.utf8
        return utf8.count >= 64 && utf8.count % 2 == 0 && utf8.allSatisfy(isHexDigit) ? .apns : .fcm
    }

    /// APNs tokens are compared in lower case; FCM tokens are opaque.
    static func normalised(_ token: String, _ provider: PushProvider) -> String {
        provider == .apns ? token.lowercased() : token
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...70, 97...102: true
        default: false
        }
    }
}

extension String? {
    /// An empty text counts as none.
    var nonEmpty: String? { self?.isEmpty == true ? nil : self }
}
