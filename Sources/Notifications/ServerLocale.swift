/// A language that the catalog has texts in.
package enum ServerLocale: String, CaseIterable, Sendable {
    case english = "en"
    case norwegian = "nb"
    case swedish = "sv"
    case danish = "da"
    case finnish = "fi"
    case german = "de"
    case dutch = "nl"
    case french = "fr"
    case spanish = "es"
    case italian = "it"
    case portuguese = "pt"
    case polish = "pl"
    case turkish = "tr"
    case japanese = "ja"
    case korean = "ko"
    case simplifiedChinese = "zh-Hans"

    /// The locale for a BCP 47 tag such as `nb-NO` or `zh-Hans-CN`; English when none fits.
    ///
    /// Script and region are used where they matter: Norwegian of any kind reads `nb`, and Chinese reads `zh-Hans` unless its
    /// script or region says traditional.
    package static func resolve(_ tag: String?) -> ServerLocale { tag.flatMap(matching) ?? .english }

    /// The locale for a BCP 47 tag, `nil` when the catalog has no texts in that language.
    package static func matching(_ tag: String) -> ServerLocale? {
        let parts = tag.replacing("_", with: "-").split(separator: "-").map { $0.lowercased() }
        guard let language = parts.first else { return nil }
        switch language {
        case "no", "nn", "nb": return .norwegian
        case "zh":
            let traditional = parts.contains("hant") || !Set(parts).isDisjoint(with: ["tw", "hk", "mo"])
            return traditional && !parts.contains("hans") ? nil : .simplifiedChinese
        default: return ServerLocale(rawValue: language)
        }
    }
}
