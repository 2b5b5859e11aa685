import Foundation
import Kernel
import Signing

/// A key pair with its public half as a JWK.
struct TestJWK: Sendable {
    let signing: SigningKey
    let json: String

    static func ec(_ id: String) throws -> TestJWK {
        let pair = try ECKey.generateP256()
        // The last 64 bytes of a P-256 key's SubjectPublicKeyInfo are x and y.
        let point = try der(pair.publicPEM).suffix(64)
        let x = Base64URL.encode(Array(point.prefix(32))), y = Base64URL.encode(Array(point.suffix(32)))
        return TestJWK(
            signing: try SigningKey(pem: pair.privatePEM, keyID: id),
            json: #"{"kty":"EC","crv":"P-256","alg":"ES256","use":"sig","kid":"\#(id)","x":"\#(x)","y":"\#(y)"}"#
        )
    }

    static func rsa(_ id: String) throws -> TestJWK {
        let pair = try RSAKey.generate()
        // A 2,048-bit modulus stands before the five bytes of the exponent's element, 65537.
        let modulus = try der(pair.publicPEM).dropLast(5).suffix(256)
        return TestJWK(
            signing: try SigningKey(pem: pair.privatePEM, keyID: id),
            json: #"{"kty":"RSA","kid":"\#(id)","n":"\#(Base64URL.encode(Array(modulus)))","e":"AQAB"}"#
        )
    }

    static func ed25519(_ id: String) throws -> TestJWK {
        let pair = try Ed25519Key.generate()
        let point = try der(pair.publicPEM).suffix(32)
        return TestJWK(
            signing: try SigningKey(pem: pair.privatePEM, keyID: id),
            json: #"{"kty":"OKP","crv":"Ed25519","kid":"\#(id)","x":"\#(Base64URL.encode(Array(point)))"}"#
        )
    }

    private static func der(_ pem: String) throws -> [UInt8] {
        let base64 = pem.split(separator: "\n").filter { !$0.hasPrefix("-") }.joined()
        return Array(Data(base64Encoded: base64) ?? Data())
    }
}
