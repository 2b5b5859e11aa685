/// What a chain of three certificates must look like beside being valid: the extensions by which its owner marks the roles.
package struct ChainRules: Sendable {
    /// Dotted object identifier the signer's certificate must carry.
    package let leafExtension: String
    /// Dotted object identifier the intermediate's certificate must carry.
    package let intermediateExtension: String

    package init(leafExtension: String, intermediateExtension: String) {
        self.leafExtension = leafExtension
        self.intermediateExtension = intermediateExtension
    }

    /// What Apple's App Store signs with: a receipt signer under the worldwide developer relations authority.
    package static let appStore = ChainRules(
        leafExtension: "1.2.840.113635.100.6.11.1",
        intermediateExtension: "1.2.840.113635.100.6.2.1"
    )
}

/// Why something signed with a certificate chain is not accepted. The raw value is a metric label.
package enum ChainRefusal: String, Error, Sendable, CaseIterable {
    /// Not three segments of canonical base64url with JSON objects, or too large.
    case malformed
    /// The header's algorithm is not exactly ES256, or a header asks for what nobody here understands.
    case header
    /// `x5c` is not a list of three texts.
    case chainLength = "chain_length"
    /// A certificate is no standard base64 of DER.
    case certificate
    /// A key is not on the curves P-256 or P-384, the signer's not on P-256.
    case key
    /// No path to a configured root that is valid at that time, or roles not marked.
    case chain
    /// `signedDate` is missing, no integer, or lies more than five minutes ahead.
    case signedDate = "signed_date"
    case signature
    /// A certificate was withdrawn, or nothing acceptable says that it was not.
    case revoked
}
