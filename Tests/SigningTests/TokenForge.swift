import Kernel

@testable import Signing

/// Makes good and bad tokens with keys of its own.
struct TokenForge: Sendable {
    static let now = Timestamp(milliseconds: 1_790_000_000_000)
    static let shared = TokenForge()

    let es256: SigningKey
    let es256Public: String
    let otherES256: SigningKey
    let rs256: SigningKey
    let rs256Public: String
    let ed25519: SigningKey
    let hs256: SigningKey

    init() {
        do {
            let pair = try ECKey.generateP256()
            es256 = try SigningKey(pem: pair.privatePEM, keyID: "es-1")
            es256Public = pair.publicPEM
            otherES256 = try SigningKey(pem: ECKey.generateP256().privatePEM, keyID: "es-1")
            let rsa = try EVPKey.generate(.rsa)
            rs256 = try SigningKey(pem: rsa.privatePEM(), keyID: "rs-1")
            rs256Public = try rsa.publicPEM()
            ed25519 = try SigningKey(pem: EVPKey.generate(.ed25519).privatePEM(), keyID: "ed-1")
            hs256 = try SigningKey(secret: Array("a secret of more than thirty-two bytes".utf8), keyID: "hs-1")
        } catch {
            fatalError("no test keys: \(error)")
        }
    }

    /// A verifier with every key, an issuer, an audience and the type `at+jwt`.
    var verifier: JWTVerifier {
        get throws {
            try JWTVerifier(
                keys: [es256, rs256, ed25519, hs256].map(\.verificationKey),
                issuer: "https://issuer.example",
                audience: "gateway",
                requiredType: "at+jwt"
            )
        }
    }

    static let goodHeader = #"{"alg":"ES256","kid":"es-1","typ":"at+jwt"}"#

    /// The claims of an acceptable token, with members replaced, added, or removed by `nil`.
    static func claims(_ changes: KeyValuePairs<String, String?> = [:]) -> String {
        var members: [(String, String)] = [
            ("iss", #""https://issuer.example""#), ("sub", #""user-1""#), ("aud", #""gateway""#),
            ("iat", "1790000000"), ("exp", "1790000900"),
        ]
        for (name, value) in changes {
            members.removeAll { $0.0 == name }
            if let value { members.append((name, value)) }
        }
        return "{" + members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
    }

    /// A token with exactly these texts, signed with the key (by default the good ES256 key).
    func token(header: String = goodHeader, claims: String = claims(), key: SigningKey? = nil) -> String {
        token(
            headerSegment: Base64URL.encode(Array(header.utf8)),
            claimsSegment: Base64URL.encode(Array(claims.utf8)),
            key: key
        )
    }

    func token(headerSegment: String, claimsSegment: String, key: SigningKey? = nil) -> String {
        let input = headerSegment + "." + claimsSegment
        do {
            return input + "." + Base64URL.encode(try (key ?? es256).sign(Array(input.utf8)))
        } catch {
            fatalError("signing failed: \(error)")
        }
    }

    /// The good token with another signature.
    func token(signature: [UInt8]) -> String {
        let parts = token().split(separator: ".", omittingEmptySubsequences: false)
        return parts[0] + "." + parts[1] + "." + Base64URL.encode(signature)
    }
}
