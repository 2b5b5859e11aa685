import Kernel
import Testing

@testable import Signing

struct SigningKeyTests {
    private let forge = TokenForge.shared

    @Test func `every key verifies what it signed and nothing else`() throws {
        let message = Array("message".utf8)
        for key in [forge.es256, forge.rs256, forge.hs256, forge.ed25519] {
            let signature = try key.sign(message)
            #expect(key.verificationKey.verifies(signature, of: message), "\(key.algorithm)")
            #expect(!key.verificationKey.verifies(signature, of: message + [0]), "\(key.algorithm)")
            #expect(!key.verificationKey.verifies([], of: message), "\(key.algorithm)")
            #expect(!key.verificationKey.verifies(Array(signature.dropLast()), of: message), "\(key.algorithm)")
        }
    }

    @Test func `an ES256 signature has 64 bytes even when r or s begins with zeros`() throws {
        var padded = 0
        for index in 0..<1000 {
            let message = Array("message \(index)".utf8)
            let signature = try forge.es256.sign(message)
            #expect(signature.count == 64)
            if signature[0] == 0 || signature[32] == 0 {
                padded += 1
                #expect(forge.es256.verificationKey.verifies(signature, of: message))
            }
        }
        // About 8 of 1,000 are expected; none at all has a probability below 1 in 2,000.
        #expect(padded > 0)
    }

    @Test func `raw and DER signatures convert both ways`() {
        let small = [UInt8](repeating: 0, count: 31) + [1]
        let large = [UInt8](repeating: 0xFF, count: 32)
        for raw in [small + small, large + large, small + large, large + small] {
            #expect(ECDSASignature.der(fromRaw: raw).flatMap(ECDSASignature.raw(fromDER:)) == raw)
        }
        #expect(ECDSASignature.der(fromRaw: small + small) == [0x30, 6, 2, 1, 1, 2, 1, 1])
        let broken: [[UInt8]] = [
            [], [0x30], [0x30, 0], [0x30, 3, 2, 1, 1], [0x30, 7, 2, 1, 1, 2, 1, 1, 0], [0x30, 4, 2, 0, 2, 0],
        ]
        for bad in broken {
            #expect(ECDSASignature.raw(fromDER: bad) == nil)
        }
    }

    @Test func `weak and foreign keys are refused`() throws {
        for (pem, code) in [
            (TestKeys.p384, SigningError.Code.refusedKey), (TestKeys.rsa1024, .refusedKey),
            (TestKeys.rsaExponent3, .refusedKey),
            (TestKeys.ed448, .refusedKey), (TestKeys.encrypted, .invalidKey), ("", .invalidKey),
            ("nonsense", .invalidKey),
            (forge.es256Public, .invalidKey),
        ] {
            let error = #expect(throws: SigningError.self) { try SigningKey(pem: pem) }
            #expect(error?.code == code, "\(pem.prefix(40))")
        }
    }

    @Test func `a secret must be long and no public key`() throws {
        for secret in [
            [], [UInt8](repeating: 1, count: 31), Array(forge.es256Public.utf8), Array("\n\(forge.rs256Public)".utf8),
        ] {
            let error = #expect(throws: SigningError.self) { try VerificationKey(secret: secret) }
            #expect(error?.code == .refusedKey)
        }
        #expect(throws: Never.self) { try VerificationKey(secret: [UInt8](repeating: 1, count: 32)) }
    }

    @Test func `generated keys are PKCS8 and fit together`() throws {
        let pair = try ECKey.generateP256()
        #expect(pair.privatePEM.hasPrefix("-----BEGIN PRIVATE KEY-----"))
        #expect(pair.publicPEM.hasPrefix("-----BEGIN PUBLIC KEY-----"))
        let signature = try SigningKey(pem: pair.privatePEM).sign([1, 2, 3])
        #expect(try VerificationKey(pem: pair.publicPEM).verifies(signature, of: [1, 2, 3]))
    }

    @Test func `a token made here is read here`() throws {
        let token = try JWTSigner.sign(
            header: [JSONMember("typ", "at+jwt"), JSONMember("alg", "none")],
            claims: ["sub": "u", "exp": 1_790_000_100],
            key: forge.es256
        )
        let jws = try CompactJWS(token)
        #expect(jws.header == ["alg": "ES256", "kid": "es-1", "typ": "at+jwt"])
        let verifier = try JWTVerifier(keys: [forge.es256.verificationKey])
        #expect(try verifier.verify(token, now: TokenForge.now).subject == "u")
    }
}
