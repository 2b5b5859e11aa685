import Kernel

/// Checks signatures of compact JWS tokens against a fixed set of keys (RFC 8725, 3.1): first the key is chosen, then the
/// token's algorithm must be the one that key carries.
package struct JWSVerifier: Sendable {
    private let named: [String: VerificationKey]
    private let unnamed: [VerificationKey]

    /// Headers that bring a key of their own, change what is signed, or must be understood: none is, so all are refused.
    private static let refusedHeaders = ["crit", "b64", "zip", "enc", "jwk", "jku", "x5u", "x5c", "x5t", "x5t#S256"]

    /// - Throws: `duplicateKeyID` when two keys share an id, `invalidKey` for an id that `kid` cannot carry.
    package init(keys: [VerificationKey]) throws(SigningError) {
        var named: [String: VerificationKey] = [:]
        for key in keys {
            guard let keyID = key.keyID else { continue }
            guard Self.isKeyID(keyID) else {
                throw SigningError(.invalidKey, "a key id is 1 to 64 of A-Z a-z 0-9 . _ -")
            }
            guard named.updateValue(key, forKey: keyID) == nil else {
                throw SigningError(.duplicateKeyID, "two keys have the id \(keyID)")
            }
        }
        self.named = named
        unnamed = keys.filter { $0.keyID == nil }
    }

    /// Takes the token apart and checks its signature.
    /// - Throws: `tooLarge`, `malformed`, `header`, `unknownKey`, `algorithm` or `signature`.
    package func verify(_ token: String) throws(JWTError) -> CompactJWS {
        let jws = try CompactJWS(token)
        try verify(jws)
        return jws
    }

    /// Checks the headers and the signature of a token that was already taken apart.
    package func verify(_ jws: CompactJWS) throws(JWTError) {
        for name in Self.refusedHeaders where jws.header[name] != nil {
            throw JWTError(.header, "the header \(name) is not accepted")
        }
        guard let algorithm = jws.header["alg"]?.stringValue else {
            throw JWTError(.header, "the header alg is missing or no string")
        }
        let key = try key(for: jws)
        guard key.algorithm.accepts(name: algorithm) else {
            throw JWTError(.algorithm, "the token's algorithm is not the key's, which is \(key.algorithm.name)")
        }
        guard key.verifies(jws.signature, of: jws.signingInput) else {
            throw JWTError(.signature, "the signature does not fit")
        }
    }

    /// The key the token names. A token without `kid`, or with one that no key carries, may mean the one key without an
    /// id, or, without `kid`, the only key there is.
    private func key(for jws: CompactJWS) throws(JWTError) -> VerificationKey {
        guard let member = jws.header["kid"] else {
            let candidates = unnamed + Array(named.values)
            guard candidates.count == 1 else {
                throw JWTError(.unknownKey, "the token names no key and \(candidates.count) are configured")
            }
            return candidates[0]
        }
        guard let keyID = member.stringValue, Self.isKeyID(keyID) else {
            throw JWTError(.header, "the header kid is not 1 to 64 of A-Z a-z 0-9 . _ -")
        }
        if let key = named[keyID] { return key }
        guard named.isEmpty, unnamed.count == 1 else { throw JWTError(.unknownKey, "no key has the token's kid") }
        return unnamed[0]
    }

    static func isKeyID(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}
