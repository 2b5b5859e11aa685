import Kernel

/// A request that passed every check.
struct ValidPush: Sendable {
    let deviceToken: String
    let apnsID: UUIDBits
    let topic: String
    let pushType: String
    let priority: Int
    /// Seconds since 1970, 0 to try once, `nil` for Apple's own policy.
    let expiration: Int64?
    let collapseID: String?
}

/// Apple's rules for one request, authentication aside.
struct PushValidation: Sendable {
    /// The bundle ids that may be sent to; empty allows every topic.
    let topics: Set<String>

    /// The device token in a path.
    /// - Throws: `BadPath`, `MissingDeviceToken` or `BadDeviceToken`.
    static func deviceToken(inPath path: String) throws(APNsRefusal) -> String {
        let prefix = "/3/device"
        guard path.hasPrefix(prefix) else { throw .badPath }
        let rest = path.dropFirst(prefix.utf8.count)
        guard rest.isEmpty || rest.hasPrefix("/") else { throw .badPath }
        let token = rest.dropFirst()
        guard !token.isEmpty else { throw .missingDeviceToken }
        // Apple's tokens are opaque bytes of no promised length; 64 to 200 digits have been seen.
        guard (64...200).contains(token.utf8.count), token.utf8.count % 2 == 0, token.utf8.allSatisfy(isHexDigit) else {
            throw .badDeviceToken
        }
        return String(token)
    }

    /// Checks headers and body.
    /// - Parameter newID: makes the id of a push that brought none.
    func check(
        deviceToken: String,
        headers: PushHeaders,
        bodySize: Int,
        newID: () -> UUIDBits
    ) throws(APNsRefusal) -> ValidPush {
        var apnsID = newID()
        if let text = headers.apnsID {
            // Only the canonical lower-case spelling.
            guard let given = UUIDBits(text), given.description == text else { throw .badMessageID }
            apnsID = given
        }
        guard let kind = PushKind.named(headers.pushType ?? "alert") else { throw .invalidPushType }
        let topic = try checkedTopic(headers.topic, kind)
        if let collapseID = headers.collapseID, collapseID.utf8.count > 64 { throw .badCollapseID }
        let priority = Int(headers.priority ?? (kind.name == "background" ? "5" : "10"))
        guard let priority, [10, 5, 1].contains(priority) else { throw .badPriority }
        guard kind.name != "background" || priority == 5 else { throw .badPriority }
        var expiration: Int64?
        if let text = headers.expiration {
            guard let seconds = Int64(text), seconds >= 0 else { throw .badExpirationDate }
            expiration = seconds
        }
        guard bodySize > 0 else { throw .payloadEmpty }
        guard bodySize <= kind.payloadLimit else { throw .payloadTooLarge }
        return ValidPush(
            deviceToken: deviceToken,
            apnsID: apnsID,
            topic: topic,
            pushType: kind.name,
            priority: priority,
            expiration: expiration,
            collapseID: headers.collapseID
        )
    }

    private func checkedTopic(_ topic: String?, _ kind: PushKind) throws(APNsRefusal) -> String {
        guard let topic, !topic.isEmpty else { throw .missingTopic }
        guard !topics.isEmpty else { return topic }
        guard topic.hasSuffix(kind.topicSuffix), topics.contains(String(topic.dropLast(kind.topicSuffix.count))) else {
            throw .topicDisallowed
        }
        return topic
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
