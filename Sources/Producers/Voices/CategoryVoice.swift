package import Notifications

/// What a category's producer would say to a user at this moment, without saying it: for development, and for previews.
package protocol CategoryVoice: Sendable {
    func words(for user: UserID) async throws -> VoiceAnswer
}

/// A voice's answer. Its words are the catalog's or an operator's: a voice has none of its own (P10).
package enum VoiceAnswer: Sendable, Equatable {
    case says(key: String, variables: CatalogVariables)
    /// What an operator wrote; without a title it is the category's.
    case saysAsWritten(title: OperatorText?, body: OperatorText, deeplinkURL: String?)
    /// Nothing, and why in one word.
    case silent(reason: String)
}
