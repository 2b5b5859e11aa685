import Kernel
import Testing

@testable import Signing

struct JWTVerifierTests {
    private let forge = TokenForge.shared

    @Test(arguments: HostileToken.all)
    func `a hostile token is refused for the right reason`(_ hostile: HostileToken) throws {
        let verifier = try forge.verifier
        let error = #expect(throws: JWTError.self) { try verifier.verify(hostile.token, now: TokenForge.now) }
        #expect(error?.code == hostile.code, "\(String(describing: error))")
    }

    @Test(arguments: ["ES256", "RS256", "HS256", "EdDSA", "Ed25519"])
    func `a good token of every algorithm is accepted`(_ algorithm: String) throws {
        let key =
            switch algorithm {
            case "ES256": forge.es256
            case "RS256": forge.rs256
            case "HS256": forge.hs256
            default: forge.ed25519
            }
        let header = #"{"alg":"\#(algorithm)","kid":"\#(key.keyID ?? "")","typ":"at+jwt"}"#
        let claims = try forge.verifier.verify(forge.token(header: header, key: key), now: TokenForge.now)
        #expect(claims.subject == "user-1")
    }

    @Test func `claims come back as they were signed`() throws {
        let token = forge.token(
            claims: TokenForge.claims([
                "aud": #"["other","gateway"]"#, "nbf": "1789999999", "jti": #""t-1""#, "scope": #""a:read b:write""#,
                "custom": #"{"plan":"pro"}"#,
            ])
        )
        let claims = try forge.verifier.verify(token, now: TokenForge.now)
        #expect(claims.issuer == "https://issuer.example")
        #expect(claims.audience == ["other", "gateway"])
        #expect(claims.expiresAt == Timestamp(milliseconds: 1_790_000_900_000))
        #expect(claims.notBefore == Timestamp(milliseconds: 1_789_999_999_000))
        #expect(claims.issuedAt == Timestamp(milliseconds: 1_790_000_000_000))
        #expect(claims.tokenID == "t-1")
        #expect(claims.scope == ["a:read", "b:write"])
        #expect(claims.json["custom"]?["plan"] == "pro")
    }

    @Test(
        arguments: [
            ("exp passed within the leeway", ["iat": "1789999000", "exp": "1789999971"]),
            ("nbf within the leeway", ["nbf": "1790000030"]),
            ("iat within the leeway", ["iat": "1790000030"]),
            ("exp with a fraction", ["exp": "1790000900.5"]),
            ("exp as 1.7900009e9", ["exp": "1.7900009e9"]),
            ("no iat", ["x": "1"]),
        ] as [(String, [String: String])]
    )
    func `clocks may disagree a little`(_ name: String, _ changes: [String: String]) throws {
        var claims = TokenForge.claims()
        for (key, value) in changes {
            claims = key == "x" ? TokenForge.claims(["iat": nil]) : replacing(key, value, in: claims)
        }
        #expect(throws: Never.self) { try forge.verifier.verify(forge.token(claims: claims), now: TokenForge.now) }
    }

    @Test(
        arguments: [
            // Seconds between the token's beginning and the clock, and what becomes of it: good for 900 s, with a leeway of 30 s.
            (-3600, JWTError.Code.notYetValid), (-31, .notYetValid), (-30, nil), (0, nil), (900, nil), (929, nil),
            (930, .expired), (3600, .expired),
        ] as [(Int64, JWTError.Code?)]
    )
    func `a token is good from the second it was issued to the second it ends, however the clock leaps`(
        seconds: Int64,
        code: JWTError.Code?
    ) throws {
        let verifier = try forge.verifier
        let token = forge.token()
        let now = Timestamp(milliseconds: TokenForge.now.milliseconds + seconds * 1000)
        var refusal: JWTError.Code?
        do { _ = try verifier.verify(token, now: now) } catch { refusal = error.code }
        #expect(refusal == code)
    }

    @Test func `a type is compared as a media type`() throws {
        for type in ["AT+JWT", "application/at+jwt"] {
            let token = forge.token(header: #"{"alg":"ES256","kid":"es-1","typ":"\#(type)"}"#)
            #expect(throws: Never.self) { try forge.verifier.verify(token, now: TokenForge.now) }
        }
    }

    @Test func `the twin of a signature is valid too and names the same token id`() throws {
        // s and n - s verify alike, which is why revocation goes by jti.
        let order = Hex.decode("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551") ?? []
        let token = forge.token()
        let signature = Base64URL.decode(Array(token.utf8.split(separator: UInt8(ascii: ".")).last ?? [])) ?? []
        var twin = Array(signature.prefix(32))
        var borrow = 0
        var difference: [UInt8] = []
        for index in (0..<32).reversed() {
            let value = Int(order[index]) - Int(signature[32 + index]) - borrow
            borrow = value < 0 ? 1 : 0
            difference.insert(UInt8(truncatingIfNeeded: value), at: 0)
        }
        twin += difference
        let input = token.split(separator: ".").prefix(2).joined(separator: ".")
        let copy = input + "." + Base64URL.encode(twin)
        #expect(copy != token)
        let claims = try forge.verifier.verify(copy, now: TokenForge.now)
        #expect(claims.subject == "user-1")
    }

    @Test func `a single key without an id serves tokens with and without kid`() throws {
        let key = try VerificationKey(pem: forge.es256Public)
        let verifier = try JWTVerifier(keys: [key])
        for header in [#"{"alg":"ES256"}"#, #"{"alg":"ES256","kid":"anything"}"#] {
            #expect(throws: Never.self) { try verifier.verify(forge.token(header: header), now: TokenForge.now) }
        }
        let error = #expect(throws: JWTError.self) {
            try verifier.verify(forge.token(header: #"{"alg":"RS256"}"#, key: forge.rs256), now: TokenForge.now)
        }
        #expect(error?.code == .algorithm)
    }

    @Test func `two keys with one id are refused`() throws {
        let error = #expect(throws: SigningError.self) {
            try JWTVerifier(keys: [forge.es256.verificationKey, forge.otherES256.verificationKey])
        }
        #expect(error?.code == .duplicateKeyID)
    }

    @Test func `an error never shows the token`() throws {
        for hostile in HostileToken.all where hostile.token.count > 20 {
            do {
                _ = try forge.verifier.verify(hostile.token, now: TokenForge.now)
            } catch {
                #expect(!String(describing: error).contains(hostile.token.suffix(20)))
            }
        }
    }

    private func replacing(_ name: String, _ value: String, in claims: String) -> String {
        guard case .object(let members)? = try? JSONValue(parsing: claims) else { return claims }
        let kept = members.filter { $0.name != name }
        return JSONValue.object(kept + [JSONMember(name, .number(JSONNumber(text: value)))]).text
    }
}
