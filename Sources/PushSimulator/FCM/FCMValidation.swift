import Kernel

/// Google's rules for one message. Names are checked as strictly as its JSON parser does: in both spellings, unknown ones
/// refused.
struct FCMValidation: Sendable {
    /// Names and values of `data` and `notification`, in bytes.
    private static let payloadLimit = 4096
    private static let longestLife = 2_419_200.0

    private static let requestFields: Set<String> = ["message", "validate_only"]
    private static let messageFields: Set<String> = [
        "name", "token", "topic", "condition", "data", "notification", "android", "apns", "webpush", "fcm_options",
    ]
    private static let notificationFields: Set<String> = ["title", "body", "image"]
    private static let androidFields: Set<String> = [
        "priority", "ttl", "collapse_key", "restricted_package_name", "data", "notification", "direct_boot_ok",
        "bandwidth_constrained_ok", "fcm_options",
    ]
    private static let androidTexts: Set<String> = ["collapse_key", "restricted_package_name"]
    private static let androidNotificationTexts: Set<String> = [
        "title", "body", "icon", "color", "sound", "tag", "click_action", "body_loc_key", "title_loc_key", "channel_id",
        "ticker", "image",
    ]
    private static let androidNotificationFields = androidNotificationTexts.union([
        "body_loc_args", "title_loc_args", "sticky", "event_time", "local_only", "notification_priority",
        "default_sound", "default_vibrate_timings", "default_light_settings", "vibrate_timings", "visibility",
        "notification_count", "light_settings", "proxy",
    ])
    private static let apnsFields: Set<String> = ["headers", "payload", "live_activity_token", "fcm_options"]

    /// - Returns: the push, and whether it is only to be checked.
    func check(_ body: [UInt8], projectID: String, now: Timestamp) throws(FCMRefusal) -> (
        push: ValidPush, isOnlyACheck: Bool
    ) {
        let request: JSONValue
        do {
            request = try JSONValue(parsing: body)
        } catch {
            throw .field("", "Invalid JSON payload received. \(error)")
        }
        let top = try fields(of: request, "", Self.requestFields)
        guard let message = top["message"] else { throw .field("message", "Message is required.") }
        let parts = try fields(of: message, "message", Self.messageFields)
        let targets = ["token", "topic", "condition"].filter { parts[$0] != nil }
        guard targets.count == 1 else { throw .field("message", "Exactly one target is required.") }
        let data = try texts(parts["data"], "message.data")
        try checkNames(data, "message.data")
        let notification = try texts(parts["notification"], "message.notification", Self.notificationFields)
        let size = (data + notification).reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        guard size <= Self.payloadLimit else { throw .field("message", "Message is too big") }
        let android = try Android(parts["android"], self)
        try checkAPNs(parts["apns"])
        guard let token = parts["token"]?.stringValue, Self.isToken(token) else { throw .malformedToken }
        let id = android.tag ?? data.first { $0.name == "messageId" }?.value
        let push = ValidPush(
            deviceToken: token,
            apnsID: id.flatMap { UUIDBits($0) }
                ?? UUIDBits(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max)),
            topic: projectID,
            pushType: "fcm",
            priority: android.isHigh ? 10 : 5,
            expiration: android.life.map { now.seconds + Int64($0) },
            collapseID: android.tag
        )
        return (push, top["validate_only"]?.boolValue ?? false)
    }

    /// What a registration token is made of. Google's are about 160 characters; their form is no promise.
    private static func isToken(_ text: String) -> Bool {
        (1...4096).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: ":"),
                    UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }

    // MARK: Parts

    private struct Android {
        var tag: String?
        var isHigh = false
        /// Seconds.
        var life: Double?

        init(_ value: JSONValue?, _ rules: FCMValidation) throws(FCMRefusal) {
            guard let value else { return }
            let parts = try rules.fields(of: value, "message.android", FCMValidation.androidFields)
            for (name, value) in parts where FCMValidation.androidTexts.contains(name) && value.stringValue == nil {
                throw .field("message.android.\(name)", "Invalid value at '\(name)' (TYPE_STRING)")
            }
            if let priority = parts["priority"] {
                guard let word = priority.stringValue?.uppercased(), ["HIGH", "NORMAL"].contains(word) else {
                    throw .field("message.android.priority", "Invalid value at 'message.android.priority'")
                }
                isHigh = word == "HIGH"
            }
            if let ttl = parts["ttl"] {
                guard let text = ttl.stringValue, text.hasSuffix("s"), let seconds = Double(text.dropLast()),
                    (0...FCMValidation.longestLife).contains(seconds)
                else { throw .field("message.android.ttl", "Invalid ttl") }
                life = seconds
            }
            try rules.checkNames(rules.texts(parts["data"], "message.android.data"), "message.android.data")
            if let notification = parts["notification"] {
                let path = "message.android.notification"
                let parts = try rules.fields(of: notification, path, FCMValidation.androidNotificationFields)
                for (name, value) in parts
                where FCMValidation.androidNotificationTexts.contains(name) && value.stringValue == nil {
                    throw .field("\(path).\(name)", "Invalid value at '\(path).\(name)' (TYPE_STRING)")
                }
                tag = parts["tag"]?.stringValue
            }
        }
    }

    private func checkAPNs(_ value: JSONValue?) throws(FCMRefusal) {
        guard let value else { return }
        let parts = try fields(of: value, "message.apns", Self.apnsFields)
        _ = try texts(parts["headers"], "message.apns.headers")
        if let payload = parts["payload"], payload.members == nil {
            throw .field("message.apns.payload", "Invalid value at 'message.apns.payload' (TYPE_MESSAGE)")
        }
    }

    /// The members of an object by their names in small letters with underscores.
    private func fields(of value: JSONValue, _ path: String, _ known: Set<String>) throws(FCMRefusal) -> [String:
        JSONValue]
    {
        guard let members = value.members else { throw .field(path, "Invalid value at '\(path)' (TYPE_MESSAGE)") }
        var found: [String: JSONValue] = [:]
        for member in members {
            let name = Self.snake(member.name)
            guard known.contains(name) else {
                throw .field(path, "Invalid JSON payload received. Unknown name \"\(member.name)\" at '\(path)'.")
            }
            found[name] = member.value
        }
        return found
    }

    /// An object whose values are all texts.
    private func texts(
        _ value: JSONValue?,
        _ path: String,
        _ known: Set<String>? = nil
    ) throws(FCMRefusal) -> [(name: String, value: String)] {
        guard let value else { return [] }
        guard let members = value.members else { throw .field(path, "Invalid value at '\(path)' (TYPE_MESSAGE)") }
        var found: [(name: String, value: String)] = []
        for member in members {
            if let known, !known.contains(Self.snake(member.name)) {
                throw .field(path, "Invalid JSON payload received. Unknown name \"\(member.name)\" at '\(path)'.")
            }
            guard let text = member.value.stringValue else {
                throw .field(path, "Invalid value at '\(path)[\(member.name)]' (TYPE_STRING)")
            }
            found.append((member.name, text))
        }
        return found
    }

    /// Names that Google keeps for itself.
    private func checkNames(_ data: [(name: String, value: String)], _ path: String) throws(FCMRefusal) {
        for entry in data
        where ["from", "message_type", "notification"].contains(entry.name) || entry.name.hasPrefix("google.")
            || entry.name.hasPrefix("gcm.")
        {
            throw .field(path, "Invalid data payload key: \(entry.name)")
        }
    }

    /// `validateOnly` as `validate_only`.
    private static func snake(_ name: String) -> String {
        var output = ""
        for character in name {
            if character.isUppercase { output += "_" }
            output += character.lowercased()
        }
        return output
    }
}
