import Kernel
import NotificationContract

/// Puts a push that is written in Apple's form into FCM's, for Android and for iOS apps that registered with FCM.
///
/// The alert becomes `notification`, what stands beside `aps` becomes `data`. Android gets the message id as the tag, unless
/// the push says otherwise, so that a repeated send shows one notification; no `collapse_key`, of which FCM keeps only four. iOS gets the rest of `aps` and
/// the headers that Apple would have got.
enum FCMMessage {
    /// The most that Google takes, in bytes: names and values of `data` and `notification`.
    static let limit = 4096
    /// Four weeks, the longest time to live.
    static let longestLife: Int64 = 2_419_200
    static let tokenLimit = 4096

    /// A push that Google would refuse: it is not sent.
    struct Refusal: Error, Equatable {
        let reason: String
    }

    /// The request's body.
    /// - Parameter now: the time to live counts from here.
    static func make(_ request: PushRequest, now: Timestamp) throws(Refusal) -> [UInt8] {
        guard isToken(request.deviceToken) else { throw Refusal(reason: "MalformedDeviceToken") }
        if case .id(let text) = request.collapse, !(1...PushRules.collapseLimit).contains(text.utf8.count) {
            throw Refusal(reason: "BadCollapseId")
        }
        guard request.pushType == .alert || request.pushType == .background else {
            throw Refusal(reason: "BadPushType")
        }
        guard !request.payload.isEmpty else { throw Refusal(reason: "PayloadEmpty") }
        let payload: JSONValue
        do {
            payload = try JSONValue(parsing: request.payload)
        } catch {
            throw Refusal(reason: "PayloadNotJSON")
        }
        let content = try Content(payload, messageID: request.messageID.description)
        guard content.size <= limit else { throw Refusal(reason: "PayloadTooLarge") }
        var life: Int64?
        if let expiration = request.expiration {
            life = max(expiration.seconds - now.seconds, 0)
        }
        if let life, life > longestLife { throw Refusal(reason: "BadTTL") }
        return write(request, content, life: life)
    }

    /// A registration token is opaque; it must only be able to stand in a text.
    static func isToken(_ text: String) -> Bool {
        (1...tokenLimit).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    // MARK: Parts

    /// What a push says, taken apart.
    private struct Content {
        var title: String?
        var body: String?
        var data: [(name: String, value: String)] = []
        var category: String?
        var sound: String?
        /// `aps` without the alert.
        var rest: [JSONMember] = []

        init(_ payload: JSONValue, messageID: String) throws(Refusal) {
            guard let members = payload.members else { throw Refusal(reason: "PayloadNotJSON") }
            for member in members {
                if member.name == "aps" {
                    try read(member.value)
                } else {
                    try add(member.name, member.value)
                }
            }
            if let category { data.append((PushPayloadKey.category, category)) }
            if !data.contains(where: { $0.name == PushPayloadKey.messageID }) {
                data.append((PushPayloadKey.messageID, messageID))
            }
        }

        private mutating func read(_ aps: JSONValue) throws(Refusal) {
            for member in aps.members ?? [] {
                switch member.name {
                case "alert":
                    title = member.value["title"]?.stringValue
                    body = member.value["body"]?.stringValue ?? member.value.stringValue
                    continue
                case "category": category = member.value.stringValue
                case "sound": sound = member.value.stringValue
                default: break
                }
                rest.append(member)
            }
        }

        /// - Throws: for what Google would refuse: values that are no text, and names that it keeps for itself.
        private mutating func add(_ name: String, _ value: JSONValue) throws(Refusal) {
            guard let text = value.stringValue else { throw Refusal(reason: "DataValueNotString") }
            let isReserved =
                ["from", "message_type", "notification"].contains(name) || name.hasPrefix("google.")
                || name.hasPrefix("gcm.") || name == PushPayloadKey.category
            guard !isReserved else { throw Refusal(reason: "ReservedDataKey") }
            data.append((name, text))
        }

        var showsSomething: Bool { title != nil || body != nil }

        /// What counts against the limit, in bytes.
        var size: Int {
            var size = data.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
            if let title { size += "title".utf8.count + title.utf8.count }
            if let body { size += "body".utf8.count + body.utf8.count }
            return size
        }
    }

    private static func write(_ request: PushRequest, _ content: Content, life: Int64?) -> [UInt8] {
        var writer = JSONWriter(capacity: 1024)
        writer.object { writer in
            writer.name("message")
            writer.object { writer in
                writer.member("token", request.deviceToken)
                if content.showsSomething {
                    writer.name("notification")
                    writer.object { writer in
                        writer.member("title", optional: content.title)
                        writer.member("body", optional: content.body)
                    }
                }
                writer.name("data")
                writer.object { writer in
                    for entry in content.data { writer.member(entry.name, entry.value) }
                }
                writer.name("android")
                writer.object { android(request, content, life: life, &$0) }
                writer.name("apns")
                writer.object { apns(request, content, &$0) }
            }
        }
        return writer.bytes
    }

    /// What the device replaces.
    private static func collapseID(_ request: PushRequest) -> String? {
        switch request.collapse {
        case .message: request.messageID.description
        case .none: nil
        case .id(let text): text
        }
    }

    private static func android(
        _ request: PushRequest,
        _ content: Content,
        life: Int64?,
        _ writer: inout JSONWriter
    ) {
        writer.member("priority", request.priority == .immediate ? "HIGH" : "NORMAL")
        if let life { writer.member("ttl", "\(life)s") }
        guard content.showsSomething else { return }
        writer.name("notification")
        writer.object { writer in
            writer.member("tag", optional: collapseID(request))
            // A channel that the app has not made falls back to its default one.
            writer.member("channel_id", optional: content.category)
            writer.member("sound", optional: content.sound)
        }
    }

    private static func apns(_ request: PushRequest, _ content: Content, _ writer: inout JSONWriter) {
        writer.name("headers")
        writer.object { writer in
            writer.member("apns-push-type", request.pushType.rawValue)
            writer.member("apns-priority", String(request.priority.rawValue))
            writer.member("apns-collapse-id", optional: collapseID(request))
            if let expiration = request.expiration {
                writer.member("apns-expiration", String(max(expiration.seconds, 0)))
            }
        }
        writer.name("payload")
        writer.object { writer in
            writer.name("aps")
            writer.value(.object(content.rest))
        }
    }
}
