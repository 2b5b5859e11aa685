/// Words that may appear on a lock screen.
///
/// A push is a public surface, so its words have two sources only: the catalog, with placeholders from a fixed list, or a
/// person who wrote them for sending. There is no way to make one from a user's own content.
package struct PushText: Sendable, Equatable {
    package let title: String
    package let body: String

    fileprivate init(title: String, body: String) {
        self.title = title
        self.body = body
    }
}

/// What a catalog text may have filled in.
package enum Placeholder: String, CaseIterable, Sendable {
    /// The app's configured name.
    case appName
    /// The name of a subscription tier, from the operator's product list.
    case tierName
    /// A date, already written in the user's language.
    case expiryDate
}

extension Catalog {
    /// The app's name as a title.
    package var appTitle: OperatorText { OperatorText(writtenByOperator: appName) }

    /// The words of a notification in a user's language.
    ///
    /// A missing title is the category's own in that language, and the app's name where the catalog has none.
    package func pushText(
        _ text: NotificationText,
        title: OperatorText?,
        category: Category,
        locale: ServerLocale
    ) -> PushText {
        let body: String
        switch text {
        case .literal(let text): body = text.words
        case .catalog(let key, let variables): body = tVar(key, locale, variables.strings)
        }
        let given = title.flatMap { $0.isBlank ? nil : $0.words }
        let heading = given ?? (contains(category.titleKey) ? t(category.titleKey, locale) : appName)
        return PushText(title: heading, body: body)
    }
}
