/// The id of a notification category, as it stands in a push (`aps.category`), in settings and in the queue.
///
/// The set is open: a phone may meet a category that a newer server knows.
public struct CategoryID: Hashable, Sendable, CustomStringConvertible {
    /// The id as text, such as `reminder`.
    public let rawValue: String

    /// Wraps an id; whether the server knows it is the registry's question.
    public init(_ rawValue: String) {
        self.rawValue = rawValue
    }

    /// A quiet nudge to someone who has been away.
    public static let reminder = CategoryID("reminder")
    /// Notices about the account: subscription and payment.
    public static let lifecycle = CategoryID("lifecycle")
    /// News and offers, sent by a person.
    public static let campaign = CategoryID("campaign")

    /// The id as text.
    public var description: String { rawValue }
}
