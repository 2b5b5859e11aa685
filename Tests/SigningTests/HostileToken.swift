import Kernel
import Testing

@testable import Signing

/// One token that must be refused, and the code it must be refused with.
struct HostileToken: Sendable, CustomTestStringConvertible {
    let name: String
    let code: JWTError.Code
    let token: String

    init(_ name: String, _ code: JWTError.Code, _ token: String) {
        self.name = name
        self.code = code
        self.token = token
    }

    var testDescription: String { name }

    private static let forge = TokenForge.shared

    static let all: [HostileToken] =
        algorithms + signatures + encodings + shapes + headers + keyIDs + times + identities + texts

    static let algorithms: [HostileToken] = {
        let unsigned = ["none", "nOnE", "NONE", "none "].flatMap { name in
            let header = #"{"alg":"\#(name)","kid":"es-1","typ":"at+jwt"}"#
            return [
                HostileToken("alg \(name) with an empty signature", .malformed, withoutSignature(header)),
                HostileToken("alg \(name) with a good signature", .algorithm, forge.token(header: header)),
            ]
        }
        let confusedHeader = #"{"alg":"HS256","kid":"es-1","typ":"at+jwt"}"#
        let confused = [
            ("PEM", forge.es256Public), ("PEM without final newline", String(forge.es256Public.dropLast())),
        ].map { name, secret in
            HostileToken(
                "HS256 keyed with our public key as \(name)",
                .algorithm,
                hmac(confusedHeader, Array(secret.utf8))
            )
        }
        return unsigned + confused + [
            HostileToken("HS256 with an empty key", .algorithm, hmac(confusedHeader, [])),
            HostileToken(
                "HS256 with an empty key and the id of the HS256 key",
                .signature,
                hmac(#"{"alg":"HS256","kid":"hs-1","typ":"at+jwt"}"#, [])
            ),
            HostileToken(
                "the id of a key of another algorithm",
                .algorithm,
                forge.token(header: #"{"alg":"ES256","kid":"rs-1","typ":"at+jwt"}"#)
            ),
            HostileToken(
                "alg in lower case",
                .algorithm,
                forge.token(header: #"{"alg":"es256","kid":"es-1","typ":"at+jwt"}"#)
            ),
            HostileToken("alg ES384", .algorithm, forge.token(header: #"{"alg":"ES384","kid":"es-1","typ":"at+jwt"}"#)),
            HostileToken(
                "alg of 1 KB",
                .tooLarge,
                forge.token(header: #"{"alg":"\#(String(repeating: "A", count: 1024))","kid":"es-1","typ":"at+jwt"}"#)
            ),
        ]
            + ["1", "[]", "{}", "null"].map { value in
                HostileToken(
                    "alg \(value)",
                    .header,
                    forge.token(header: #"{"alg":\#(value),"kid":"es-1","typ":"at+jwt"}"#)
                )
            }
            + [HostileToken("alg missing", .header, forge.token(header: #"{"kid":"es-1","typ":"at+jwt"}"#))]
    }()

    static let signatures: [HostileToken] = {
        let order: [UInt8] = Hex.decode("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551") ?? []
        let zero = [UInt8](repeating: 0, count: 32)
        let one = Array(zero.dropLast()) + [1]
        let ones = [UInt8](repeating: 0xFF, count: 32)
        let good = Base64URL.decode(Array(forge.token().utf8.split(separator: UInt8(ascii: ".")).last ?? [])) ?? []
        let raw: [(String, [UInt8])] = [
            ("r = s = 0", zero + zero), ("r = 0, s = 1", zero + one), ("r = 1, s = 0", one + zero),
            ("r = n", order + one), ("s = n", one + order), ("r = s = ff..ff", ones + ones), ("r = s = 1", one + one),
            ("DER", ECDSASignature.der(fromRaw: good) ?? []),
            ("63 bytes", Array(good.dropLast())), ("65 bytes", good + [0]), ("1 byte", [1]),
            ("64 bytes and a NUL in front", [0] + good),
            ("a flipped bit", Array(good.dropLast()) + [(good.last ?? 0) ^ 1]),
        ]
        return raw.map { HostileToken("signature \($0.0)", .signature, forge.token(signature: $0.1)) } + [
            HostileToken("signature removed", .malformed, withoutSignature(TokenForge.goodHeader)),
            HostileToken("signed by another key of the same id", .signature, forge.token(key: forge.otherES256)),
            HostileToken("claims changed after signing", .signature, swappedClaims()),
        ]
    }()

    static let encodings: [HostileToken] = {
        let good = forge.token()
        let padded = Base64URL.encode(Array(TokenForge.claims(["jti": #""1""#]).utf8)) + "="
        return [
            HostileToken("signature with padding", .malformed, good + "=="),
            HostileToken(
                "claims padded and signed that way",
                .malformed,
                forge.token(headerSegment: Base64URL.encode(Array(TokenForge.goodHeader.utf8)), claimsSegment: padded)
            ),
            HostileToken("unused bits not zero", .malformed, withUnusedBits(good)),
            HostileToken("standard alphabet", .malformed, good.dropLast(2) + "+/"),
            HostileToken("newline inside", .malformed, inserting("\n", into: good)),
            HostileToken("tab inside", .malformed, inserting("\t", into: good)),
            HostileToken("space inside", .malformed, inserting(" ", into: good)),
            HostileToken("leading space", .malformed, " " + good),
            HostileToken("trailing space", .malformed, good + " "),
            HostileToken("trailing newline", .malformed, good + "\n"),
        ]
    }()

    static let shapes: [HostileToken] = {
        let good = forge.token()
        let segments = good.split(separator: ".")
        return [
            HostileToken("nothing", .malformed, ""),
            HostileToken("one segment", .malformed, "abcd"),
            HostileToken("two segments", .malformed, "\(segments[0]).\(segments[1])"),
            HostileToken("four segments", .malformed, good + ".abcd"),
            HostileToken("five segments, as an encrypted token has", .malformed, good + ".abcd.abcd"),
            HostileToken("two dots", .malformed, ".."),
            HostileToken("no header", .malformed, ".\(segments[1]).\(segments[2])"),
            HostileToken("no claims", .malformed, "\(segments[0])..\(segments[2])"),
            HostileToken("8,000 dots", .malformed, String(repeating: ".", count: 8000)),
            HostileToken("10,000 dots", .tooLarge, String(repeating: ".", count: 10_000)),
            HostileToken("2 MB", .tooLarge, good + String(repeating: "A", count: 2_000_000)),
            HostileToken(
                "JSON serialization",
                .malformed,
                #"{"protected":"\#(segments[0])","payload":"\#(segments[1])","signature":"\#(segments[2])"}"#
            ),
            HostileToken("compact inside JSON", .malformed, #"{"\#(good)":1}"#),
        ]
    }()

    static let headers: [HostileToken] = {
        let members = [
            #""crit":["exp"]"#, #""crit":[]"#, #""crit":"exp""#, #""crit":["alg"]"#, #""crit":["absent"]"#,
            #""b64":false"#,
            #""b64":false,"crit":["b64"]"#, #""jwk":{"kty":"EC"}"#, #""jku":"https://evil.example/keys""#,
            #""x5u":"https://evil.example/c""#, #""x5c":["MIIB"]"#, #""x5t":"abc""#, #""x5t#S256":"abc""#,
            #""zip":"DEF""#,
            #""enc":"A128GCM""#,
        ]
        let bodies = [
            ("array", "[]"), ("string", #""x""#), ("number", "1"), ("null", "null"), ("empty", ""),
            ("trailing bytes", TokenForge.goodHeader + "x"), ("byte order mark", "\u{FEFF}" + TokenForge.goodHeader),
            ("lone surrogate", #"{"alg":"ES256","kid":"\ud800"}"#),
            ("alg twice, none first", #"{"alg":"none","alg":"ES256","kid":"es-1","typ":"at+jwt"}"#),
            ("alg twice, none last", #"{"alg":"ES256","alg":"none","kid":"es-1","typ":"at+jwt"}"#),
        ]
        let bytes: [(String, [UInt8])] = [
            ("UTF-16", TokenForge.goodHeader.utf8.flatMap { [$0, 0] }),
            ("invalid UTF-8", Array(#"{"alg":"ES256","kid":""#.utf8) + [0xC3, 0x28] + Array(#""}"#.utf8)),
        ]
        return members.map { HostileToken("header with \($0)", .header, withHeader($0)) }
            + bodies.map { HostileToken("header: \($0.0)", .malformed, forge.token(header: $0.1)) }
            + bytes.map { name, header in
                let claims = Base64URL.encode(Array(TokenForge.claims().utf8))
                let token = forge.token(headerSegment: Base64URL.encode(header), claimsSegment: claims)
                return HostileToken("header: \(name)", .malformed, token)
            }
            + [#""JWT""#, #""refresh+jwt""#, #""""#].map { type in
                HostileToken("typ \(type)", .type, forge.token(header: #"{"alg":"ES256","kid":"es-1","typ":\#(type)}"#))
            }
            + [
                HostileToken("typ missing", .type, forge.token(header: #"{"alg":"ES256","kid":"es-1"}"#)),
                HostileToken("typ a number", .header, forge.token(header: #"{"alg":"ES256","kid":"es-1","typ":1}"#)),
            ]
    }()

    static let keyIDs: [HostileToken] =
        [
            (#""../../dev/null""#, .header), (#""/proc/self/environ""#, .header), (#""' OR 1=1""#, .header),
            (#""""#, .header),
            (#""\u0000""#, .malformed), ("1", .header), ("[]", .header), ("null", .header),
            (#""unknown""#, .unknownKey),
            (#""ES-1""#, .unknownKey), ("\"" + String(repeating: "k", count: 65) + "\"", .header),
            ("\"" + String(repeating: "k", count: 10_000) + "\"", .tooLarge),
        ].map { (value: String, code: JWTError.Code) in
            HostileToken(
                "kid \(value.prefix(24))",
                code,
                forge.token(header: #"{"alg":"ES256","kid":\#(value),"typ":"at+jwt"}"#)
            )
        } + [HostileToken("kid missing", .unknownKey, forge.token(header: #"{"alg":"ES256","typ":"at+jwt"}"#))]

    static let times: [HostileToken] =
        ["true", "null", "[]", #""1790000900""#, "-1", "0", "1e400", "1790000900000"].map { (value: String) in
            claims("exp \(value)", .claims, ["exp": value])
        } + [
            claims("exp NaN", .malformed, ["exp": "NaN"]),
            claims("exp 2^53+1", .claims, ["exp": "9007199254740993"]),
            claims("exp missing", .claims, ["exp": nil]),
            claims("exp passed by the leeway", .expired, ["iat": "1789999000", "exp": "1789999970"]),
            claims("exp two days away", .claims, ["exp": "1790172800"]),
            claims("exp two days away without iat", .claims, ["exp": "1790172800", "iat": nil]),
            claims("nbf beyond the leeway", .notYetValid, ["nbf": "1790000031"]),
            claims("nbf a string", .claims, ["nbf": #""1790000000""#]),
            claims("iat beyond the leeway", .notYetValid, ["iat": "1790000031"]),
            claims("iat a string", .claims, ["iat": #""1790000000""#]),
        ]

    static let identities: [HostileToken] =
        [#""other""#, #""gateway2""#, "[]", #""Gateway""#, #"["other"]"#, #""""#].map { (value: String) in
            claims("aud \(value)", .audience, ["aud": value])
        }
        + ["null", "1", #"["gateway",1]"#, "{}"].map { (value: String) in
            claims("aud \(value)", .audience, ["aud": value])
        }
        + [#""https://issuer.example/""#, #""HTTPS://issuer.example""#, #""""#].map { (value: String) in
            claims("iss \(value)", .issuer, ["iss": value])
        } + [
            claims("aud missing", .audience, ["aud": nil]),
            claims("iss missing", .issuer, ["iss": nil]),
            claims("iss a list", .claims, ["iss": #"["https://issuer.example"]"#]),
            claims("scope a list", .claims, ["scope": #"["a"]"#]),
            claims("jti a number", .claims, ["jti": "1"]),
            claims("sub missing", .subject, ["sub": nil]),
            claims("sub with 129 characters", .subject, ["sub": "\"" + String(repeating: "u", count: 129) + "\""]),
            claims("sub with NUL", .malformed, ["sub": #""a\u0000b""#]),
        ]
        + ["1", "null", #""""#, #""a b""#, #""a/b""#, #""\u202eabc""#, #""brukerø""#].map { (value: String) in
            claims("sub \(value)", .subject, ["sub": value])
        }

    static let texts: [HostileToken] = [
        HostileToken("claims an array", .malformed, forge.token(claims: "[]")),
        HostileToken("claims a string", .malformed, forge.token(claims: #""x""#)),
        HostileToken("claims a number", .malformed, forge.token(claims: "1")),
        HostileToken("claims empty", .malformed, forge.token(claims: "")),
        HostileToken(
            "sub twice",
            .malformed,
            forge.token(claims: #"{"sub":"user-2","# + TokenForge.claims().dropFirst())
        ),
        HostileToken("exp twice", .malformed, forge.token(claims: #"{"exp":1,"# + TokenForge.claims().dropFirst())),
        claims("nesting of 9", .malformed, ["x": String(repeating: "[", count: 9) + String(repeating: "]", count: 9)]),
        claims(
            "nesting of 2,000",
            .malformed,
            ["x": String(repeating: "[", count: 2000) + String(repeating: "]", count: 2000)]
        ),
    ]

    private static func claims(
        _ name: String,
        _ code: JWTError.Code,
        _ changes: KeyValuePairs<String, String?>
    ) -> HostileToken {
        HostileToken(name, code, forge.token(claims: TokenForge.claims(changes)))
    }

    private static func withoutSignature(_ header: String) -> String {
        Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(TokenForge.claims().utf8)) + "."
    }

    private static func hmac(_ header: String, _ key: [UInt8]) -> String {
        let input = withoutSignature(header).dropLast()
        return input + "." + Base64URL.encode(HMAC.sha256(Array(input.utf8), key: key))
    }

    private static func withHeader(_ member: String) -> String {
        forge.token(header: #"{"alg":"ES256","kid":"es-1","typ":"at+jwt",\#(member)}"#)
    }

    private static func swappedClaims() -> String {
        let parts = forge.token().split(separator: ".")
        return parts[0] + "." + Base64URL.encode(Array(TokenForge.claims(["sub": #""root""#]).utf8)) + "." + parts[2]
    }

    private static func inserting(_ text: String, into token: String) -> String {
        token.prefix(40) + text + token.dropFirst(40)
    }

    /// 64 bytes end in a character of which only the upper two bits count; setting a lower one spells the same bytes twice.
    private static func withUnusedBits(_ token: String) -> String {
        let next: [Character: Character] = ["A": "B", "Q": "R", "g": "h", "w": "x"]
        return token.dropLast() + String(token.last.flatMap { next[$0] } ?? "?")
    }
}
