/// What fills the placeholders of a catalog text. A producer can name only what is in `Placeholder`, with values of a kind that
/// holds no user's words (P10).
package struct CatalogVariables: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    /// By the placeholder's name.
    package let strings: [String: String]

    package init(dictionaryLiteral elements: (Placeholder, PlaceholderValue)...) {
        strings = Dictionary(elements.map { ($0.rawValue, $1.text) }, uniquingKeysWith: { _, last in last })
    }

    /// What the parser read and compared with the catalog.
    init(parsed strings: [String: String]) {
        self.strings = strings
    }
}

/// A value that may stand in a push.
package struct PlaceholderValue: Sendable, Equatable {
    /// The longest date a language writes, with room to spare.
    private static let longestDate = 40

    package let text: String

    /// A name that the operator gave, such as that of a subscription tier.
    package init(name: OperatorText) {
        text = name.words
    }

    /// A date as it is written in the user's language: short, with at least one digit, of letters, digits, blanks and `.,/-`.
    /// - Returns: `nil` for what has another form.
    package init?(date text: String) {
        let isDate = text.unicodeScalars.allSatisfy { scalar in
            scalar.properties.isAlphabetic || scalar.properties.numericType != nil
                || " .,/-\u{A0}\u{202F}".unicodeScalars.contains(scalar)
                || scalar.properties.generalCategory == .nonspacingMark
        }
        guard isDate, text.count <= Self.longestDate, text.contains(where: \.isNumber) else { return nil }
        self.text = text
    }
}
