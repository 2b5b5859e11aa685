/// An access token as it is sent.
struct AccessToken: Sendable, Equatable {
    /// The `authorization` header's value.
    let header: String
    /// Counts the tokens of a source.
    let generation: Int
}

/// A token fresh from whoever issues it.
package struct IssuedToken: Sendable {
    package let text: String
    /// How long it is good for, from the moment it was asked for.
    package let lifetime: Duration

    /// - Throws: `malformed` for a text that no header may carry, or a life of less than a second or more than a day.
    init(text: String, seconds: Int64) throws(AccessTokenError) {
        guard (1...8192).contains(text.utf8.count), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw AccessTokenError(.malformed, "the access token is no printable text of 1 to 8192 bytes")
        }
        guard (1...86_400).contains(seconds) else {
            throw AccessTokenError(.malformed, "expires_in is not from 1 to 86400 seconds")
        }
        self.text = text
        lifetime = .seconds(seconds)
    }
}

/// Why there is no access token. Never carries a token or an assertion.
package struct AccessTokenError: Error, Equatable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// Google refuses the account: its key was deleted, it is disabled, or our clock is wrong. No repetition mends it.
        case refused
        /// The token endpoint did not answer, or said that it cannot now.
        case unavailable
        /// What came is no token.
        case malformed
        /// The operator's command failed.
        case command
        /// OpenSSL could not sign.
        case signing
    }

    package let code: Code
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { "access_token.\(code.rawValue): \(message)" }
}

/// Issues access tokens, one for each call.
package protocol AccessTokenIssuing: Sendable {
    func issue() async throws(AccessTokenError) -> IssuedToken
}
