import Kernel
import Testing

@testable import Signing

/// Keys as JSON, good and hostile (cases 40 to 42 of the hostile tokens).
@Suite struct JWKTests {
    // The P-256 key of RFC 7515, appendix A.3, and the Ed25519 key of RFC 8037, appendix A.2.
    private static let x = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
    private static let y = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
    private static let okp = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"

    private static func ec(_ extra: String = "", x: String = x, y: String = y, curve: String = "P-256") -> String {
        #"{"kty":"EC","crv":"\#(curve)","x":"\#(x)","y":"\#(y)"\#(extra)}"#
    }

    private func key(_ text: String) throws -> VerificationKey {
        try VerificationKey(jwk: JSONValue(parsing: text))
    }

    @Test func `keys of RFC 7515 and RFC 8037 verify what stands there`() throws {
        let token =
            "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        let signature = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
        let bytes = try #require(Base64URL.decode(Array(signature.utf8)))
        #expect(try key(Self.ec()).verifies(bytes, of: Array(token.utf8)))
        #expect(try !key(Self.ec()).verifies(bytes, of: Array((token + "x").utf8)))
        let okp = try key(#"{"kty":"OKP","crv":"Ed25519","alg":"EdDSA","x":"\#(Self.okp)"}"#)
        #expect(okp.algorithm == .ed25519)
    }

    @Test(arguments: [
        (ec(y: x), "a point off the curve"), (ec(curve: "P-384"), "another curve"),
        (ec(x: "g83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"), "another x"),
        (ec(x: "zc4ncPbEXUGDy-5v20t7WAczNXvp7xO6z248e9FURQ"), "a short x"), (ec(x: x + "="), "padding"),
        (ec(x: "AA" + x), "a long x"), (#"{"kty":"EC","crv":"P-256","x":"\#(x)"}"#, "no y"),
        (ec(#","use":"enc""#), "for encryption"), (ec(#","key_ops":["sign"]"#), "for signing alone"),
        (ec(#","key_ops":"verify""#), "key_ops no list"), (ec(#","alg":"ES384""#), "another algorithm"),
        (ec(#","alg":"HS256""#), "an HMAC algorithm"), (ec(#","alg":1"#), "alg a number"),
        (ec(#","kid":"../x""#), "a path as id"), (ec(#","kid":1"#), "id a number"),
        (#"{"kty":"oct","k":"c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"}"#, "a shared secret"),
        (#"{"kty":"OKP","crv":"Ed448","x":"\#(okp)"}"#, "Ed448"),
        (#"{"kty":"OKP","crv":"Ed25519","x":"\#(okp)AA"}"#, "a long Ed25519"),
        (#"{"kty":"RSA","n":"\#(String(repeating: "_", count: 170) + "w")","e":"AQAB"}"#, "RSA of 1,026 bits"),
        (#"{"kty":"RSA","n":"\#(String(repeating: "_", count: 342))","e":"Aw"}"#, "RSA with e = 3"),
        (#"{"kty":"RSA","n":"\#(String(repeating: "_", count: 342))","e":"AQ"}"#, "RSA with e = 1"),
        (#"{"kty":"RSA","n":"\#(String(repeating: "_", count: 5464))","e":"AQAB"}"#, "RSA of 32,784 bits"),
        (#"{"kty":"RSA","n":"","e":"AQAB"}"#, "an empty modulus"), ("{}", "nothing"), ("[]", "no object"),
    ])
    func `a key that must not be taken is refused`(text: String, what: String) {
        #expect(throws: SigningError.self, "\(what)") { try key(text) }
    }

    @Test func `a set leaves out what it cannot use`() throws {
        let good = Self.ec(#","kid":"a","key_ops":["verify"],"d":"ignored""#)
        let set = try JWKSet(
            parsing: Array(
                #"{"keys":[\#(good),{"kty":"oct","k":"AA"},{"kty":"new"},1,\#(Self.ec(#","kid":"b","use":"enc""#))]}"#
                    .utf8
            )
        )
        #expect(set.keys.map(\.keyID) == ["a"])
        #expect(set.ignored == 4)
    }
}

/// Hostile tokens beside the table: those that need a key or an arithmetic of their own (cases 5, 40, 42 and 46 to 48).
@Suite struct HostileKeyTests {
    private let forge = TokenForge.shared

    @Test func `our public key in any spelling is no HMAC secret (case 5)`() throws {
        let pem = forge.es256Public
        let base64 = pem.split(separator: "\n").dropFirst().dropLast().joined()
        let der = try #require(Base64.decode(base64))
        // The last 64 bytes of a P-256 key in DER are its x and y.
        let x = Base64URL.encode(Array(der.suffix(64).prefix(32))), y = Base64URL.encode(Array(der.suffix(32)))
        let jwk = #"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)"}"#
        // It is the same key, so that the spelling below is a real one.
        let signed = Array("message".utf8)
        #expect(try VerificationKey(jwk: JSONValue(parsing: jwk)).verifies(forge.es256.sign(signed), of: signed))
        let spellings: [[UInt8]] = [
            Array(pem.utf8), Array(pem.dropLast().utf8), Array(pem.replacing("\n", with: "\r\n").utf8),
            Array(base64.utf8), der, Array(jwk.utf8),
        ]
        for header in [
            #"{"alg":"HS256","kid":"es-1","typ":"at+jwt"}"#, #"{"alg":"HS256","kid":"hs-1","typ":"at+jwt"}"#,
        ] {
            for secret in spellings {
                let input =
                    Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(TokenForge.claims().utf8))
                let token = input + "." + Base64URL.encode(HMAC.sha256(Array(input.utf8), key: secret))
                #expect(throws: JWTError.self) { try forge.verifier.verify(token, now: TokenForge.now) }
            }
        }
    }

    @Test func `an RSA signature of wrong length or padding is refused (case 40)`() throws {
        let message = Array("message".utf8)
        let good = try forge.rs256.sign(message)
        let key = forge.rs256.verificationKey
        #expect(key.verifies(good, of: message))
        for wrong in [
            good + [0], [0] + good, Array(good.dropLast()), [UInt8](repeating: 0, count: 256),
            [UInt8](repeating: 0, count: 255) + [1], [UInt8](repeating: 0xFF, count: 256),
        ] {
            #expect(!key.verifies(wrong, of: message))
        }
    }

    @Test func `an Ed25519 signature is 64 bytes with S below the order (case 42)`() throws {
        let message = Array("message".utf8)
        let good = try forge.ed25519.sign(message)
        let key = forge.ed25519.verificationKey
        #expect(key.verifies(good, of: message))
        // S + L, for the order L, little-endian.
        let order = Hex.decode("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010") ?? []
        var sum = Array(good.prefix(32))
        var carry = 0
        for index in 0..<32 {
            let value = Int(good[32 + index]) + Int(order[index]) + carry
            sum.append(UInt8(truncatingIfNeeded: value))
            carry = value >> 8
        }
        for wrong in [sum, Array(good.dropLast()), good + [0]] { #expect(!key.verifies(wrong, of: message)) }
        // A public key of small order, the neutral point: with S = 0 and R of the same kind some libraries accept anything.
        let neutral = [1] + [UInt8](repeating: 0, count: 31)
        let weak = try? VerificationKey(
            jwk: ["kty": "OKP", "crv": "Ed25519", "x": .string(Base64URL.encode(neutral))]
        )
        #expect(weak == nil)
    }
}
