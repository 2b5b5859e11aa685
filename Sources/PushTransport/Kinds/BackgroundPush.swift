package import Kernel
package import Notifications

/// A push that wakes the app for some seconds and shows nothing (Apple, "Pushing background updates to your app"). Devices grant
/// about two or three an hour.
package struct BackgroundPush: Sendable {
    /// The app's own members, beside `aps`.
    package var data: [JSONMember]

    package init(data: [JSONMember] = []) {
        self.data = data
    }

    /// The body as it is sent.
    /// - Throws: `tooLarge` above 4,096 bytes, `invalid` for data named `aps` or named twice.
    package func payload() throws(PushKindError) -> [UInt8] {
        try PushKindError.checkNames(data.map(\.name))
        let members = [JSONMember("aps", ["content-available": 1])] + data
        let body = JSONValue.object(members).utf8
        try PushKindError.checkSize(body, .background)
        return body
    }

    /// The push for one device, with the one priority that Apple allows.
    package func request(
        deviceToken: String,
        environment: PushEnvironment,
        topic: String,
        messageID: UUIDBits,
        expiration: Timestamp? = nil
    ) throws(PushKindError) -> PushRequest {
        PushRequest(
            deviceToken: deviceToken,
            environment: environment,
            topic: topic,
            messageID: messageID,
            payload: try payload(),
            priority: .considerate,
            expiration: expiration,
            pushType: .background
        )
    }

    /// Whether a body asks for background work and shows nothing.
    static func isSilent(_ payload: [UInt8]) -> Bool {
        guard let aps = try? JSONValue(parsing: payload)["aps"], aps["content-available"] == 1 else { return false }
        return ["alert", "badge", "sound"].allSatisfy { aps[$0] == nil }
    }
}
