package import Kernel

/// The claims of a verified access token.
package struct JWTClaims: Sendable, Equatable {
    /// `sub`, which obeys the rule for user ids.
    package let subject: String
    package let issuer: String?
    package let audience: [String]
    package let expiresAt: Timestamp
    package let notBefore: Timestamp?
    package let issuedAt: Timestamp?
    /// `jti`. Revocation uses it and never the token's text, which is not unique: an ECDSA signature has a valid twin.
    package let tokenID: String?
    /// The words of `scope`.
    package let scope: Set<String>
    /// The whole payload.
    package let json: JSONValue
}

/// The rule that user ids obey everywhere: 1 to 128 of `A-Z a-z 0-9 . _ - | @ : +`.
package enum SubjectRule {
    package static func accepts(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: allowedPunctuation.contains(byte)
                }
            }
    }

    private static let allowedPunctuation = Set("._-|@:+".utf8)
}
