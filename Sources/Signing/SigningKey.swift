/// A key that signs. It carries exactly one algorithm, decided by what the key is.
package struct SigningKey: Sendable {
    enum Material: Sendable {
        case pair(EVPKey)
        case secret([UInt8])
    }

    let material: Material
    /// The only algorithm this key is used with.
    package let algorithm: SigningAlgorithm
    /// Written as `kid` into the tokens it signs.
    package let keyID: String?

    /// Reads a private key: EC P-256 (ES256), RSA (RS256) or Ed25519, in PEM. Apple's `.p8` files are such PEM.
    /// - Throws: `invalidKey` for a text that is no unencrypted private key, `refusedKey` for a weak one.
    package init(pem: String, keyID: String? = nil) throws(SigningError) {
        let key = try EVPKey(privatePEM: pem)
        material = .pair(key)
        algorithm = SigningAlgorithm(key.kind)
        self.keyID = keyID
    }

    /// A shared secret for HS256, at least 32 bytes.
    package init(secret: [UInt8], keyID: String? = nil) throws(SigningError) {
        material = .secret(try SharedSecret.checked(secret))
        algorithm = .hs256
        self.keyID = keyID
    }

    /// The signature of the message as JOSE writes it: 64 bytes `r || s` for ES256.
    package func sign(_ message: [UInt8]) throws(SigningError) -> [UInt8] {
        switch material {
        case .secret(let secret):
            return HMAC.sha256(message, key: secret)
        case .pair(let key):
            let signature = try key.sign(message)
            guard key.kind == .p256 else { return signature }
            guard let raw = ECDSASignature.raw(fromDER: signature) else {
                throw SigningError(.operationFailed, "OpenSSL made a signature that is no DER")
            }
            return raw
        }
    }

    /// 32 bytes that only the holder of this key can compute: HMAC-SHA-256 of the label under the private key, for encrypting
    /// what others who hold the key may read. Different labels give unrelated secrets.
    package func derivedSecret(label: String) -> [UInt8] {
        let secret: [UInt8] =
            switch material {
            case .secret(let secret): secret
            case .pair(let key): key.privateBytes
            }
        return HMAC.sha256(Array(label.utf8), key: secret)
    }

    /// The key that verifies this key's signatures, under the same key id.
    package var verificationKey: VerificationKey {
        VerificationKey(material: material, algorithm: algorithm, keyID: keyID)
    }
}

extension SigningAlgorithm {
    init(_ kind: EVPKey.Kind) {
        self =
            switch kind {
            case .p256: .es256
            case .rsa: .rs256
            case .ed25519: .ed25519
            }
    }
}

/// The rule for HS256 secrets.
enum SharedSecret {
    /// - Throws: `refusedKey` below 32 bytes (RFC 7518, 3.2), and for PEM text, which is a public key in the wrong place: an
    ///   attacker who knows it could sign.
    static func checked(_ secret: [UInt8]) throws(SigningError) -> [UInt8] {
        guard secret.count >= 32 else {
            throw SigningError(.refusedKey, "an HS256 secret needs at least 32 bytes, this one has \(secret.count)")
        }
        guard !secret.drop(while: { $0 <= 0x20 }).starts(with: "-----BEGIN".utf8) else {
            throw SigningError(.refusedKey, "an HS256 secret must not be a PEM key")
        }
        return secret
    }
}
