/// `apns-push-type` with what follows from it (Apple, "Sending notification requests to APNs"). Open: a type of tomorrow is
/// sent as it is named, with the topic as it is given.
package struct PushType: RawRepresentable, Sendable, Hashable {
    package let rawValue: String
    /// What the topic carries after the bundle id.
    package let topicSuffix: String
    /// The largest body in bytes.
    package let payloadLimit: Int

    package static let alert = PushType("alert")
    package static let background = PushType("background")
    package static let complication = PushType("complication", suffix: ".complication")
    package static let controls = PushType("controls", suffix: ".push-type.controls")
    package static let fileProvider = PushType("fileprovider", suffix: ".pushkit.fileprovider")
    package static let liveActivity = PushType("liveactivity", suffix: ".push-type.liveactivity")
    package static let location = PushType("location", suffix: ".location-query")
    /// Its topic is the UID in the subject of an MDM certificate.
    package static let mdm = PushType("mdm")
    package static let pushToTalk = PushType("pushtotalk", suffix: ".voip-ptt")
    package static let voip = PushType("voip", suffix: ".voip", limit: 5120)
    package static let widgets = PushType("widgets", suffix: ".push-type.widgets")

    /// Every type Apple documents.
    package static let documented: [PushType] = [
        .alert, .background, .complication, .controls, .fileProvider, .liveActivity, .location, .mdm, .pushToTalk,
        .voip,
        .widgets,
    ]

    private static let byName = Dictionary(uniqueKeysWithValues: documented.map { ($0.rawValue, $0) })

    private init(_ name: String, suffix: String = "", limit: Int = 4096) {
        rawValue = name
        topicSuffix = suffix
        payloadLimit = limit
    }

    package init(rawValue: String) {
        self = Self.byName[rawValue] ?? PushType(rawValue)
    }

    /// The topic for an app; one that already carries the suffix stays as it is.
    package func topic(_ bundleID: String) -> String {
        topicSuffix.isEmpty || bundleID.hasSuffix(topicSuffix) ? bundleID : bundleID + topicSuffix
    }

    package static func == (left: PushType, right: PushType) -> Bool { left.rawValue == right.rawValue }

    package func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}
