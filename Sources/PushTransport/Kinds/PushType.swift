/// `apns-push-type` with what follows from it (Apple, "Sending notification requests to APNs"). Open: a type of tomorrow is
/// sent as it is named, with the topic as it is given.
package struct PushType: RawRepresentable, Sendable, Hashable {
    package let rawValue: String
    /// The place in `rules`; the last one is for names that are not documented.
    private let rule: UInt8

    package static let alert = PushType(rawValue: "alert")
    package static let background = PushType(rawValue: "background")
    package static let complication = PushType(rawValue: "complication")
    package static let controls = PushType(rawValue: "controls")
    package static let fileProvider = PushType(rawValue: "fileprovider")
    package static let liveActivity = PushType(rawValue: "liveactivity")
    package static let location = PushType(rawValue: "location")
    /// Its topic is the UID in the subject of an MDM certificate.
    package static let mdm = PushType(rawValue: "mdm")
    package static let pushToTalk = PushType(rawValue: "pushtotalk")
    package static let voip = PushType(rawValue: "voip")
    package static let widgets = PushType(rawValue: "widgets")

    private static let rules: [(name: String, suffix: String, limit: Int)] = [
        ("alert", "", 4096),
        ("background", "", 4096),
        ("complication", ".complication", 4096),
        ("controls", ".push-type.controls", 4096),
        ("fileprovider", ".pushkit.fileprovider", 4096),
        ("liveactivity", ".push-type.liveactivity", 4096),
        ("location", ".location-query", 4096),
        ("mdm", "", 4096),
        ("pushtotalk", ".voip-ptt", 4096),
        ("voip", ".voip", 5120),
        ("widgets", ".push-type.widgets", 4096),
        ("", "", 4096),
    ]

    /// Every type Apple documents.
    package static let documented = rules.dropLast().map { PushType(rawValue: $0.name) }

    package init(rawValue: String) {
        self.rawValue = rawValue
        let last = Self.rules.count - 1
        rule = UInt8(Self.rules.dropLast().firstIndex { $0.name == rawValue } ?? last)
    }

    /// What the topic carries after the bundle id.
    package var topicSuffix: String { Self.rules[Int(rule)].suffix }

    /// The largest body in bytes.
    package var payloadLimit: Int { Self.rules[Int(rule)].limit }

    /// The topic for an app; one that already carries the suffix stays as it is.
    package func topic(_ bundleID: String) -> String {
        let suffix = topicSuffix
        return suffix.isEmpty || bundleID.hasSuffix(suffix) ? bundleID : bundleID + suffix
    }
}
