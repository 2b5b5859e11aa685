/// One text in the languages of the platform.
public struct LocalizedText: Sendable, Equatable {
    /// The languages every text of the platform has, English first.
    public static let languages = [
        "en", "nb", "sv", "da", "fi", "de", "nl", "fr", "es", "it", "pt", "pl", "tr", "ja", "ko", "zh-Hans",
    ]

    private let texts: [String: String]

    /// Wraps the text by language; what is missing is shown in English.
    public init(_ texts: [String: String]) {
        self.texts = texts
    }

    /// The same words in every language.
    public init(_ text: String) {
        texts = ["en": text]
    }

    /// The text for the first of the user's languages that there is, as `Locale.preferredLanguages` orders them; else English.
    public func text(preferring tags: [String]) -> String {
        for tag in tags {
            if let language = Self.language(of: tag), let text = texts[language] { return text }
        }
        return texts["en"] ?? ""
    }

    /// Which of `languages` a BCP 47 tag such as `nb-NO` or `zh-Hans-CN` reads, `nil` for none. Norwegian of any kind reads `nb`;
    /// Chinese reads `zh-Hans` unless its script or region says traditional.
    public static func language(of tag: String) -> String? {
        let parts = tag.split { $0 == "-" || $0 == "_" }.map { $0.lowercased() }
        guard let first = parts.first else { return nil }
        switch first {
        case "no", "nn", "nb": return "nb"
        case "zh":
            let isTraditional = parts.contains("hant") || !Set(parts).isDisjoint(with: ["tw", "hk", "mo"])
            return isTraditional && !parts.contains("hans") ? nil : "zh-Hans"
        default: return languages.contains(first) ? first : nil
        }
    }
}
