import GatewayAPI
import HTTPServer
import Kernel
import Notifications
import Observability
import Signing
import Synchronization
import Testing

/// An issuer that publishes what the test wants.
private final class Issuer: Sendable {
    struct State {
        var answer: Result<String, Failure> = .failure(Failure())
        var maxAge: Duration?
        var fetches = 0
    }

    struct Failure: Error {}

    let state = Mutex(State())

    func publish(_ keys: [String], maxAge: Duration? = nil) {
        state.withLock { state in
            state.answer = .success(#"{"keys":[\#(keys.joined(separator: ","))]}"#)
            state.maxAge = maxAge
        }
    }

    func breakDown() { state.withLock { $0.answer = .failure(Failure()) } }

    var fetches: Int { state.withLock { $0.fetches } }

    @Sendable func fetch() async throws -> TokenKeys.Published {
        let (answer, maxAge) = state.withLock { state in
            state.fetches += 1
            return (state.answer, state.maxAge)
        }
        await Task.yield()
        return TokenKeys.Published(text: Array(try answer.get().utf8), maxAge: maxAge)
    }
}

/// Keys that the issuer publishes (G7, cases 23, 43 and 44 of the hostile tokens).
@Suite struct TokenKeysTests {
    private let path = "/api/v2/notifications"

    private func token(_ key: TestJWK, _ fixture: GatewayFixture, lifetime: Duration = .seconds(600)) throws -> String {
        try JWTSigner.sign(
            claims: [
                "sub": "u1", "iss": "issuer", "aud": "varsel", "iat": .integer(fixture.clock.now.seconds),
                "exp": .integer((fixture.clock.now + lifetime).seconds),
            ],
            key: key.signing
        )
    }

    private func status(_ key: TestJWK, _ fixture: GatewayFixture) async throws -> Int {
        try await fixture.send(.get, path, bearer: token(key, fixture)).status
    }

    @Test func `published keys of every kind verify (G7)`() async throws {
        let keys = try [TestJWK.ec("e"), .rsa("r"), .ed25519("o")]
        let issuer = Issuer()
        issuer.publish(keys.map(\.json))
        let fixture = try GatewayFixture(fetchKeys: issuer.fetch)
        for key in keys {
            let answer = try await status(key, fixture)
            #expect(answer == 200, "\(key.json)")
        }
        #expect(issuer.fetches == 1)
    }

    @Test func `a new key is accepted after one refresh, a removed one is refused (G7)`() async throws {
        let old = try TestJWK.ec("old"), new = try TestJWK.ec("new")
        let issuer = Issuer()
        issuer.publish([old.json])
        let fixture = try GatewayFixture(fetchKeys: issuer.fetch)
        var answers = [try await status(old, fixture)]
        issuer.publish([old.json, new.json])
        fixture.clock.advance(by: .seconds(31))
        answers += [try await status(new, fixture), try await status(old, fixture)]
        #expect(answers == [200, 200, 200])
        #expect(issuer.fetches == 2)
        // The old key goes; a token it proved a moment ago goes with it, although it was remembered.
        let remembered = try token(old, fixture)
        #expect(try await fixture.send(.get, path, bearer: remembered).status == 200)
        issuer.publish([new.json])
        fixture.clock.advance(by: .seconds(31))
        let unknown = try TestJWK.ec("unknown")
        #expect(try await status(unknown, fixture) == 401)
        #expect(try await fixture.send(.get, path, bearer: remembered).status == 401)
        #expect(try await status(new, fixture) == 200)
    }

    @Test func `a thousand tokens with unknown keys ask the issuer once in a pause (G7)`() async throws {
        let issuer = Issuer()
        issuer.publish([try TestJWK.ec("known").json])
        let fixture = try GatewayFixture(fetchKeys: issuer.fetch)
        let stranger = try TestJWK.ec("stranger")
        let bearer = try token(stranger, fixture)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<1000 {
                group.addTask { try await fixture.send(.get, "/api/v2/notifications", bearer: bearer).status }
            }
            for try await status in group { #expect(status == 401) }
        }
        #expect(issuer.fetches == 1)
        fixture.clock.advance(by: .seconds(30))
        #expect(try await status(stranger, fixture) == 401)
        #expect(issuer.fetches == 2)
    }

    @Test func `an unknown key is nobody's fault while the issuer cannot be asked: 503, not 401 (G7)`() async throws {
        let (known, fresh) = (try TestJWK.ec("known"), try TestJWK.ec("fresh"))
        let issuer = Issuer()
        issuer.publish([known.json])
        let fixture = try GatewayFixture(fetchKeys: issuer.fetch)
        #expect(try await status(known, fixture) == 200)
        issuer.breakDown()
        fixture.clock.advance(by: .seconds(31))
        // The one that asked the issuer, and the ones within the pause.
        let answers = [
            try await status(fresh, fixture), try await status(fresh, fixture), try await status(known, fixture),
        ]
        #expect(answers == [503, 503, 200])
        issuer.publish([known.json, fresh.json])
        fixture.clock.advance(by: .seconds(31))
        #expect(try await status(fresh, fixture) == 200)
    }

    @Test(arguments: [
        (HTTPMethod.get, "/api/v2/notifications"), (.post, "/api/v1/notifications"), (.post, "/api/v1/activities"),
    ])
    func `a refused token counts once, however often a request is judged (A3)`(method: HTTPMethod, path: String)
        async throws
    {
        let fixture = try GatewayFixture()
        let key = try TestJWK.ec("k1")
        let answer = try await fixture.send(method, path, bearer: token(key, fixture))
        #expect(answer.status == 401)
        let counts = fixture.telemetry.metrics.render().split(separator: "\n")
            .filter { $0.hasPrefix("gateway_access_tokens_refused_total{") && !$0.hasSuffix(" 0") }
        #expect(counts == ["gateway_access_tokens_refused_total{reason=\"signature\"} 1"])
    }

    @Test(arguments: [
        #""jku":"https://evil.example/keys""#, #""x5u":"https://evil.example/c""#, #""jwk":{"kty":"EC"}"#,
        #""x5c":["MIIB"]"#,
    ])
    func `a token that brings or points to its own key makes nobody fetch anything (G7)`(member: String) async throws {
        let key = try TestJWK.ec("k")
        let issuer = Issuer()
        issuer.publish([key.json])
        let fixture = try GatewayFixture(fetchKeys: issuer.fetch)
        #expect(try await status(key, fixture) == 200)
        let header = #"{"alg":"ES256","kid":"stranger",\#(member)}"#
        let claims = try token(key, fixture).split(separator: ".")[1]
        let input = Base64URL.encode(Array(header.utf8)) + "." + claims
        let hostile = input + "." + Base64URL.encode(try key.signing.sign(Array(input.utf8)))
        fixture.clock.advance(by: .seconds(31))
        #expect(try await fixture.send(.get, path, bearer: hostile).status == 401)
        #expect(issuer.fetches == 1)
    }

    @Test func `keys stay for a day while the issuer is away, and then nobody is judged by them (G7)`() async throws {
        let key = try TestJWK.ec("k")
        let issuer = Issuer()
        issuer.publish([key.json], maxAge: .seconds(60))
        let fixture = try GatewayFixture(fetchKeys: issuer.fetch)
        #expect(try await status(key, fixture) == 200)
        issuer.breakDown()
        fixture.clock.advance(by: .seconds(300 + 86_399))
        #expect(try await status(key, fixture) == 200)
        fixture.clock.advance(by: .seconds(1))
        let answer = try await fixture.send(.get, path, bearer: token(key, fixture))
        #expect(answer.status == 503)
        #expect(answer.headers["retry-after"] != nil)
        issuer.publish([key.json])
        fixture.clock.advance(by: .seconds(31))
        #expect(try await status(key, fixture) == 200)
    }

    @Test(arguments: [
        "", "<html>", "[]", "{}", #"{"keys":{}}"#, #"{"keys":[]}"#, #"{"keys":[{"kty":"oct","k":"AAAA","kid":"k"}]}"#,
        #"{"keys":["# + Array(repeating: "{}", count: 51).joined(separator: ",") + "]}",
        #"{"keys":[],"x":""# + String(repeating: "x", count: 70_000) + #""}"#,
        String(repeating: "[", count: 1000),
    ])
    func `an answer that is no key set leaves the last one in use (G7)`(text: String) async throws {
        let key = try TestJWK.ec("k")
        let issuer = Issuer()
        issuer.publish([key.json])
        let fixture = try GatewayFixture(fetchKeys: issuer.fetch)
        #expect(try await status(key, fixture) == 200)
        issuer.state.withLock { $0.answer = .success(text) }
        fixture.clock.advance(by: .seconds(61))
        let stranger = try TestJWK.ec("stranger")
        #expect(try await status(stranger, fixture) == 503)
        #expect(issuer.fetches == 2)
        #expect(try await status(key, fixture) == 200)
    }

    @Test func `a key id that stands there twice is nobody's (G7)`() async throws {
        let one = try TestJWK.ec("twin"), other = try TestJWK.ec("twin"), good = try TestJWK.ec("good")
        let issuer = Issuer()
        issuer.publish([one.json, other.json, good.json])
        let fixture = try GatewayFixture(fetchKeys: issuer.fetch)
        #expect(try await status(good, fixture) == 200)
        #expect(try await status(one, fixture) == 401)
        #expect(try await status(other, fixture) == 401)
    }

    @Test func `without keys a request is asked to come back, and refusals are not remembered (G7)`() async throws {
        let key = try TestJWK.ec("k")
        let issuer = Issuer()
        let fixture = try GatewayFixture(fetchKeys: issuer.fetch)
        #expect(try await status(key, fixture) == 503)
        issuer.publish([key.json])
        fixture.clock.advance(by: .seconds(31))
        #expect(try await status(key, fixture) == 200)
    }

    @Test func `the memory of proven tokens is bounded and holds no refusal (G7)`() async throws {
        let key = try TestJWK.ec("k")
        let clock = FixedWallClock(Timestamp(milliseconds: 1_796_083_200_000))
        let keys = try TokenKeys(
            fixed: [key.signing.verificationKey],
            rules: JWTVerifier.Rules(issuer: "issuer"),
            clock: clock,
            telemetry: .silent()
        )
        let tokens = AccessTokens(keys: keys, clock: clock, telemetry: .silent(), capacity: 10)
        for number in 0..<100 {
            let text = try JWTSigner.sign(
                claims: [
                    "sub": .string("u\(number)"), "iss": "issuer", "exp": .integer(clock.now.seconds + 60),
                ],
                key: key.signing
            )
            #expect(try await tokens.user(of: text)?.rawValue == "u\(number)")
            #expect(try await tokens.user(of: text + "A") == nil)
            #expect(tokens.remembered <= 10)
        }
    }
}
