/// Why a token is not accepted. For metrics and debug logs only: a client is told no more than "invalid token".
package struct JWTError: Error, Equatable, CustomStringConvertible {
    /// A small fixed set, fit for a metric's label.
    package enum Code: String, Sendable, CaseIterable {
        /// Longer than allowed.
        case tooLarge
        /// Not three canonical base64url segments, or not the JSON objects they must hold.
        case malformed
        /// A header that is not understood or not allowed here.
        case header
        /// No key, or no single key, for this token.
        case unknownKey
        /// The key found is not for the algorithm the token names.
        case algorithm
        case signature
        /// The `typ` is not the one required.
        case type
        case expired
        case notYetValid
        case issuer
        case audience
        case subject
        /// A claim is missing, of the wrong type or out of range.
        case claims
    }

    package let code: Code
    /// Never contains the token or a value from it.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { "jwt.\(code.rawValue): \(message)" }
}
