package import Kernel

extension VerificationKey {
    /// Reads one public key of a JWK set (RFC 7517): EC on P-256, RSA of 2,048 to 8,192 bits, or Ed25519, meant for signatures. A shared
    /// secret (`oct`) is never taken from the network.
    /// - Throws: `invalidKey` for what is no such key, `refusedKey` for one that is too weak or meant for something else.
    package init(jwk: JSONValue) throws(SigningError) {
        if let use = jwk["use"], use.stringValue != "sig" {
            throw SigningError(.refusedKey, "a key that is not for signatures")
        }
        if let operations = jwk["key_ops"], operations.arrayValue?.contains("verify") != true {
            throw SigningError(.refusedKey, "a key that is not for verifying")
        }
        var keyID: String?
        if let member = jwk["kid"] {
            guard let text = member.stringValue, JWSVerifier.isKeyID(text) else {
                throw SigningError(.invalidKey, "a key id is 1 to 64 of A-Z a-z 0-9 . _ -")
            }
            keyID = text
        }
        let der: [UInt8]
        switch (jwk["kty"]?.stringValue, jwk["crv"]?.stringValue) {
        case ("EC", "P-256"):
            let x = try Self.number("x", in: jwk, exactly: 32)
            let y = try Self.number("y", in: jwk, exactly: 32)
            der = PublicKeyDER.p256(x: x, y: y)
        case ("OKP", "Ed25519"):
            let x = try Self.number("x", in: jwk, exactly: 32)
            guard !SmallOrder.contains(x) else { throw SigningError(.refusedKey, "an Ed25519 key of small order") }
            der = PublicKeyDER.ed25519(x)
        case ("RSA", nil):
            let modulus = try Self.number("n", in: jwk, atMost: 1024)
            let exponent = try Self.number("e", in: jwk, atMost: 8)
            der = PublicKeyDER.rsa(modulus: modulus, exponent: exponent)
        default: throw SigningError(.refusedKey, "a key that is neither EC P-256 nor RSA nor Ed25519")
        }
        let key = try EVPKey(publicDER: der)
        let algorithm = SigningAlgorithm(key.kind)
        if let name = jwk["alg"] {
            guard let name = name.stringValue, algorithm.accepts(name: name) else {
                throw SigningError(.refusedKey, "a key for another algorithm than \(algorithm.name)")
            }
        }
        self.init(material: .pair(key), algorithm: algorithm, keyID: keyID)
    }

    private static func number(_ name: String, in jwk: JSONValue, exactly count: Int) throws(SigningError) -> [UInt8] {
        let bytes = try number(name, in: jwk, atMost: count)
        guard bytes.count == count else {
            throw SigningError(.invalidKey, "the member \(name) has another length than \(count)")
        }
        return bytes
    }

    private static func number(_ name: String, in jwk: JSONValue, atMost limit: Int) throws(SigningError) -> [UInt8] {
        guard let bytes = jwk[name]?.stringValue.flatMap({ Base64URL.decode(Array($0.utf8)) }),
            (1...limit).contains(bytes.count)
        else {
            throw SigningError(.invalidKey, "the member \(name) is missing or no base64url of at most \(limit) bytes")
        }
        return bytes
    }
}

/// Ed25519 points whose order divides eight, by their 32 bytes without the sign: under such a key anybody can sign.
private enum SmallOrder {
    private static let points: [[UInt8]] = [
        "0100000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        // The same in spellings that are not reduced.
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ]
    .compactMap { Hex.decode($0) }

    static func contains(_ x: [UInt8]) -> Bool {
        points.contains { $0[..<31].elementsEqual(x[..<31]) && $0[31] == x[31] & 0x7F }
    }
}

/// Lays public keys out as SubjectPublicKeyInfo (RFC 5280), which OpenSSL reads and checks.
private enum PublicKeyDER {
    private static let p256Head: [UInt8] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
        0xCE, 0x3D,
        0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
    ]
    private static let ed25519Head: [UInt8] = [0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00]
    private static let rsaAlgorithm: [UInt8] = [
        0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
    ]

    static func p256(x: [UInt8], y: [UInt8]) -> [UInt8] { p256Head + x + y }

    static func ed25519(_ x: [UInt8]) -> [UInt8] { ed25519Head + x }

    static func rsa(modulus: [UInt8], exponent: [UInt8]) -> [UInt8] {
        let key = element(0x30, element(0x02, unsigned(modulus)) + element(0x02, unsigned(exponent)))
        return element(0x30, rsaAlgorithm + element(0x03, [0] + key))
    }

    private static func unsigned(_ bytes: [UInt8]) -> [UInt8] {
        let digits = Array(bytes.drop { $0 == 0 })
        return (digits.first ?? 0x80) >= 0x80 ? [0] + digits : digits
    }

    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        var length: [UInt8] = []
        if content.count < 0x80 {
            length = [UInt8(content.count)]
        } else {
            var rest = content.count
            while rest > 0 {
                length.insert(UInt8(truncatingIfNeeded: rest), at: 0)
                rest >>= 8
            }
            length.insert(0x80 | UInt8(length.count), at: 0)
        }
        return [tag] + length + content
    }
}
