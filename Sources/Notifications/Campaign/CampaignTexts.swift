package import Kernel

/// A campaign's words in each language, with one of them for everybody else.
package struct CampaignTexts: Sendable, Equatable {
    /// The words in one language.
    package struct Text: Sendable, Equatable {
        /// `nil` for the category's own.
        package var title: String?
        package var body: String

        package init(title: String? = nil, body: String) {
            self.title = title
            self.body = body
        }
    }

    package let byLocale: [ServerLocale: Text]
    /// Whose words are read where there are none in the user's language.
    package let fallback: ServerLocale
    private let fallbackText: Text

    /// - Returns: `nil` when there are no words in the fallback's language.
    package init?(_ texts: [ServerLocale: Text], fallback: ServerLocale) {
        guard let text = texts[fallback] else { return nil }
        byLocale = texts
        self.fallback = fallback
        fallbackText = text
    }

    /// The words for a user with this BCP 47 tag, and the language they are in.
    package func text(for tag: String?) -> (locale: ServerLocale, text: Text) {
        let locale = locale(for: tag)
        if let text = byLocale[locale] { return (locale, text) }
        return (fallback, fallbackText)
    }

    /// The language that counts as a user's own for this campaign. Without one, or with one that the catalog does not know, it is the
    /// fallback.
    package func locale(for tag: String?) -> ServerLocale { tag.flatMap(ServerLocale.matching) ?? fallback }

    /// `{"fallback": "en", "en": {"title": …, "body": …}}`, the form it is stored in.
    package var json: JSONValue {
        var members = [JSONMember("fallback", .string(fallback.rawValue))]
        for locale in ServerLocale.allCases {
            guard let text = byLocale[locale] else { continue }
            members.append(
                JSONMember(locale.rawValue, ["title": .optional(text.title), "body": .string(text.body)])
            )
        }
        return .object(members)
    }

    /// Reads the stored form.
    package init?(json: JSONValue) {
        guard let fallback = json["fallback"]?.stringValue.flatMap(ServerLocale.init) else { return nil }
        var texts: [ServerLocale: Text] = [:]
        for member in json.members ?? [] {
            guard let locale = ServerLocale(rawValue: member.name), let body = member.value["body"]?.stringValue else {
                continue
            }
            texts[locale] = Text(title: member.value["title"]?.stringValue, body: body)
        }
        self.init(texts, fallback: fallback)
    }
}

extension Catalog {
    /// A campaign's words as a user reads them.
    package func campaignText(_ text: CampaignTexts.Text, category: Category, locale: ServerLocale) -> PushText {
        pushText(
            .literal(body: OperatorText(writtenByOperator: text.body)),
            title: text.title.map(OperatorText.init(writtenByOperator:)),
            category: category,
            locale: locale
        )
    }
}
