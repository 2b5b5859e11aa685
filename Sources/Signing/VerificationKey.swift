/// A key that verifies. Like `SigningKey` it carries exactly one algorithm; a public key can never reach the HMAC routine,
/// because the two are different cases of one type.
package struct VerificationKey: Sendable {
    private let material: SigningKey.Material
    /// The only algorithm this key accepts.
    package let algorithm: SigningAlgorithm
    /// Tokens name the key by it; `nil` for the one key of an issuer that names none.
    package let keyID: String?

    init(material: SigningKey.Material, algorithm: SigningAlgorithm, keyID: String?) {
        self.material = material
        self.algorithm = algorithm
        self.keyID = keyID
    }

    /// Reads a public key in PEM (`BEGIN PUBLIC KEY`): EC P-256, RSA from 2,048 bits, or Ed25519.
    /// - Throws: `invalidKey` or `refusedKey`.
    package init(pem: String, keyID: String? = nil) throws(SigningError) {
        let key = try EVPKey(publicPEM: pem)
        self.init(material: .pair(key), algorithm: SigningAlgorithm(key.kind), keyID: keyID)
    }

    /// A shared secret for HS256, at least 32 bytes.
    package init(secret: [UInt8], keyID: String? = nil) throws(SigningError) {
        self.init(material: .secret(try SharedSecret.checked(secret)), algorithm: .hs256, keyID: keyID)
    }

    /// Whether the signature, in JOSE's form, is the message's. ES256 takes exactly 64 bytes, never DER.
    package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        switch material {
        case .secret(let secret):
            return ConstantTime.equal(HMAC.sha256(message, key: secret), signature)
        case .pair(let key):
            guard key.kind == .p256 else { return key.verifies(signature, of: message) }
            guard let der = ECDSASignature.der(fromRaw: signature) else { return false }
            return key.verifies(der, of: message)
        }
    }
}
