/// Words that a person of the operator's wrote for sending: a campaign's text, a body that a credential with the scope
/// `notifications:literal` sent, or words that stand in this program's source.
///
/// A `String` is none: it may hold anything, a user's own words too. So the only free spelling is a literal in the source, which
/// cannot be interpolated, and the other one names its origin. `scripts/check-arrows` holds the list of places that may use it.
package struct OperatorText: Sendable, Equatable, ExpressibleByStringLiteral {
    package let words: String

    package init(stringLiteral value: StaticString) {
        words = value.description
    }

    /// Takes words over whose origin was checked: read from a job, a request with the scope for it, a campaign's row or the
    /// operator's product list.
    package init(writtenByOperator words: String) {
        self.words = words
    }

    /// Whether there is something to read in it.
    package var isBlank: Bool { !words.contains { !$0.isWhitespace } }
}
