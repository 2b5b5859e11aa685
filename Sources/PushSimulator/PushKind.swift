/// A push type with the suffix that its topic carries after the bundle id, and its payload limit.
struct PushKind: Sendable {
    let name: String
    let topicSuffix: String
    let payloadLimit: Int

    private static let all = [
        PushKind(name: "alert"),
        PushKind(name: "background"),
        PushKind(name: "complication", topicSuffix: ".complication"),
        PushKind(name: "controls", topicSuffix: ".push-type.controls"),
        PushKind(name: "fileprovider", topicSuffix: ".pushkit.fileprovider"),
        PushKind(name: "liveactivity", topicSuffix: ".push-type.liveactivity"),
        PushKind(name: "location", topicSuffix: ".location-query"),
        PushKind(name: "mdm"),
        PushKind(name: "pushtotalk", topicSuffix: ".voip-ptt"),
        PushKind(name: "voip", topicSuffix: ".voip", payloadLimit: 5120),
        PushKind(name: "widgets", topicSuffix: ".push-type.widgets"),
    ]

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    private init(name: String, topicSuffix: String = "", payloadLimit: Int = 4096) {
        self.name = name
        self.topicSuffix = topicSuffix
        self.payloadLimit = payloadLimit
    }

    static func named(_ name: String) -> PushKind? { byName[name] }
}
