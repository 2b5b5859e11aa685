public import Foundation
public import NotificationContract

/// What a push of the platform says to the app (E6). Members it does not know are ignored, and of those it knows a strange value
/// counts as missing, so that an older app survives a newer server.
public struct NotificationPayload: Sendable, Equatable {
    /// Apple's `interruption-level`, as far as the platform uses it.
    public enum InterruptionLevel: String, Sendable {
        case passive, active
        case timeSensitive = "time-sensitive"
    }

    /// The kind of notification; the app need not know it.
    public var category: CategoryID
    /// The inbox item's id, `nil` in a push that has no inbox item.
    public var messageID: UUID?
    /// Where a tap leads, `nil` when the push does not say.
    public var deeplinkURL: String?
    /// The thing the push is about: 1 to 64 of `A–Z a–z 0–9 _ -`.
    public var entityID: String?
    /// How the server's registry lets the category appear; `.active` when the push does not say.
    public var interruptionLevel: InterruptionLevel
    /// The sound's name, `nil` for none.
    public var sound: String?
    /// The number for the app's icon, when the push carries one.
    public var badge: Int?
    /// The alert's title.
    public var title: String?
    /// The alert's body.
    public var body: String?

    /// Reads what `UNNotificationContent.userInfo` holds.
    /// - Returns: `nil` when it is no push of this platform (`source` is another, or no category is named).
    public init?(userInfo: [AnyHashable: Any]) {
        self.init(PayloadValue(userInfo: userInfo))
    }

    /// Reads the JSON as it travels.
    /// - Returns: `nil` when it is no JSON object or no push of this platform.
    public init?(json: Data) {
        guard let value = try? JSONDecoder().decode(PayloadValue.self, from: json) else { return nil }
        self.init(value)
    }

    /// Reads a push; see `init(userInfo:)`.
    public init?(_ value: PayloadValue) {
        guard let push = value.members, push[PushPayloadKey.source]?.text == PushPayloadKey.sourceValue else {
            return nil
        }
        let aps = push["aps"]?.members ?? [:]
        guard let category = aps["category"]?.text ?? push[PushPayloadKey.category]?.text, !category.isEmpty else {
            return nil
        }
        self.category = CategoryID(category)
        messageID = push[PushPayloadKey.messageID]?.text.flatMap(UUID.init(uuidString:))
        deeplinkURL = push[PushPayloadKey.deeplinkURL]?.text.flatMap { $0.isEmpty ? nil : $0 }
        entityID = push[PushPayloadKey.entityID]?.text.flatMap { Self.isEntityID($0) ? $0 : nil }
        interruptionLevel = aps["interruption-level"]?.text.flatMap(InterruptionLevel.init(rawValue:)) ?? .active
        sound = aps["sound"]?.text ?? aps["sound"]?.members?["name"]?.text
        badge = aps["badge"]?.integer
        let alert = aps["alert"]
        title = alert?.members?["title"]?.text
        body = alert?.members?["body"]?.text ?? alert?.text
    }

    private static func isEntityID(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}
