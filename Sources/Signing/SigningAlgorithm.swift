/// The signature algorithms Varsel speaks. `none` is not among them, so no code path can accept an unsigned token.
package enum SigningAlgorithm: Sendable, Hashable, CaseIterable {
    /// ECDSA on P-256 with SHA-256.
    case es256
    /// RSA PKCS#1 v1.5 with SHA-256.
    case rs256
    /// HMAC with SHA-256.
    case hs256
    /// Ed25519.
    case ed25519

    /// The value written as `alg` (RFC 7518, RFC 8037).
    package var name: String {
        switch self {
        case .es256: "ES256"
        case .rs256: "RS256"
        case .hs256: "HS256"
        case .ed25519: "EdDSA"
        }
    }

    /// Whether a token's `alg` names this algorithm: an exact, case-sensitive comparison. RFC 9864 renames EdDSA to
    /// Ed25519, so both spellings mean an Ed25519 key.
    package func accepts(name: String) -> Bool {
        name == self.name || self == .ed25519 && name == "Ed25519"
    }
}
