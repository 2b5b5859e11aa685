import GatewayAPI
import HTTPServer
import Kernel
import Observability
import Signing
import Synchronization
import Testing

@Suite struct AccessTests {
    /// A path of an endpoint with something in its parameters.
    private func path(_ endpoint: Endpoint) -> String {
        endpoint.path.replacing("{id}", with: "01900000-0000-7000-8000-000000000001").replacing("{token}", with: "t")
    }

    @Test func `a user's token never reaches service or development routes`() async throws {
        let fixture = try GatewayFixture()
        var checked = 0
        for endpoint in fixture.gateway.endpoints {
            switch endpoint.access {
            case .service:
                let answer = try await fixture.user(endpoint.method, path(endpoint), ["userId": "u1"])
                #expect(answer.status == 403, "\(endpoint.path)")
                checked += 1
            case .developer:
                let answer = try await fixture.user(endpoint.method, path(endpoint), ["userId": "u1"])
                #expect(answer.status == 401, "\(endpoint.path)")
                checked += 1
            case .user, .optionalUser, .userOrService: break
            }
        }
        #expect(checked >= 9)
        #expect(fixture.memory.orders.isEmpty)
    }

    @Test func `a service credential never stands for a user`() async throws {
        let fixture = try GatewayFixture()
        for endpoint in fixture.gateway.endpoints where endpoint.access == .user {
            let answer = try await fixture.service(endpoint.method, path(endpoint), [:])
            #expect(answer.status == 401, "\(endpoint.path)")
        }
    }

    @Test func `every route but registration refuses the anonymous`() async throws {
        let fixture = try GatewayFixture()
        for endpoint in fixture.gateway.endpoints where endpoint.access != .optionalUser {
            let answer = try await fixture.send(endpoint.method, path(endpoint), [:])
            #expect(answer.status == 401, "\(endpoint.path)")
            #expect(answer.json["requestId"]?.stringValue?.isEmpty == false)
        }
    }

    @Test(arguments: [
        "Bearer", "Bearer ", "Bearer  x", "Bearer x y", "Basic dTpw", "Bearer not.a.token", "Bearer vsk_nobody_x",
        "Bearer vsk_all_wrong", "x",
    ])
    func `a header that holds no good token is refused alike`(header: String) async throws {
        let fixture = try GatewayFixture()
        let answer = try await fixture.send(
            .get,
            "/api/v2/notifications",
            headers: ["Authorization": header]
        )
        #expect(answer.status == 401)
        #expect(answer.slug == "invalid-token")
        #expect(answer.headers["www-authenticate"]?.contains("invalid_token") == true)
    }

    @Test func `two Authorization headers are refused, even two good ones`() async throws {
        let fixture = try GatewayFixture()
        let token = "Bearer " + (try fixture.userToken("u1"))
        var headers = HTTPHeaders()
        headers.add("Authorization", token)
        headers.add("Authorization", token)
        for path in ["/api/v2/notifications", "/api/v1/notifications/preferences"] {
            #expect(try await fixture.send(.get, path, headers: headers).status == 400)
        }
        #expect(
            try await fixture.send(.post, "/api/v1/notifications/device-token", ["token": "t"], headers: headers)
                .status == 400
        )
    }

    @Test func `a token in the query is never looked at`() async throws {
        let fixture = try GatewayFixture()
        let answer = try await fixture.send(.get, "/api/v2/notifications?access_token=\(fixture.userToken("u1"))")
        #expect(answer.status == 401)
    }

    @Test func `the scheme's name may be in any case`() async throws {
        let fixture = try GatewayFixture()
        let headers: HTTPHeaders = ["authorization": "bearer \(try fixture.userToken("u1"))"]
        #expect(try await fixture.send(.get, "/api/v2/notifications", headers: headers).status == 200)
    }

    @Test func `a remembered token still expires`() async throws {
        let fixture = try GatewayFixture()
        let token = try fixture.userToken("u1", lifetime: .seconds(30))
        #expect(try await fixture.send(.get, "/api/v2/notifications", bearer: token).status == 200)
        #expect(try await fixture.send(.get, "/api/v2/notifications", bearer: token).status == 200)
        #expect(fixture.telemetry.metrics.render().contains(#"gateway_access_token_cache_total{result="hit"} 1"#))
        // Beyond the leeway of 30 s too.
        fixture.clock.advance(by: .seconds(61))
        #expect(try await fixture.send(.get, "/api/v2/notifications", bearer: token).status == 401)
    }

    @Test func `a token for another audience is refused, and nothing of it is logged`() async throws {
        let fixture = try GatewayFixture()
        let token = try fixture.userToken("u1", audience: "other")
        #expect(try await fixture.send(.get, "/api/v2/notifications", bearer: token).status == 401)
        #expect(!fixture.sink.lines.joined().contains(token.suffix(20)))
    }

    @Test func `a missing scope is named`() async throws {
        let fixture = try GatewayFixture()
        let answer = try await fixture.service(.get, "/api/v1/notifications/explain?userId=u1", as: "writer")
        #expect(answer.status == 403)
        #expect(answer.headers["www-authenticate"]?.contains("scope=\"explain:read\"") == true)
    }

    @Test func `development routes exist only with a development token`() async throws {
        let fixture = try GatewayFixture(developerToken: nil)
        for name in ["ping", "test-consent", "trigger-v2", "reset"] {
            #expect(try await fixture.developer(name).status == 404)
            #expect(try await fixture.user(.get, "/api/v1/notifications/dev/\(name)").status == 404)
        }
    }

    @Test func `the development token counts under dev alone`() async throws {
        let fixture = try GatewayFixture()
        let headers: HTTPHeaders = ["X-Dev-Token": GatewayFixture.developerToken]
        #expect(try await fixture.send(.get, "/api/v2/notifications", headers: headers).status == 401)
        let wrong: HTTPHeaders = ["X-Dev-Token": String(repeating: "e", count: 32)]
        let body: JSONValue = ["userId": "u1"]
        #expect(
            try await fixture.send(.post, "/api/v1/notifications/dev/reset", body, headers: wrong).status == 401
        )
    }
}

/// The file of service credentials.
@Suite struct ServiceCredentialsTests {
    private let token = GatewayFixture.serviceToken("a-1")
    private let now = Timestamp(milliseconds: 1_796_083_200_000)

    private func file(_ extra: String = "") -> [UInt8] {
        Array(
            #"[{"id":"a-1","sha256":"\#(Hex.encode(SHA256.hash(token)))","scopes":["explain:read"]\#(extra)}]"#.utf8
        )
    }

    @Test func `a token proves its credential until notAfter`() throws {
        let credentials = try ServiceCredentials(parsing: file(#","notAfter":"2026-12-01T00:00:10Z""#))
        #expect(credentials.credential(of: token, now: now)?.id == "a-1")
        #expect(credentials.credential(of: token, now: now + .seconds(10)) == nil)
        #expect(credentials.credential(of: token + "x", now: now) == nil)
        #expect(credentials.credential(of: "vsk_a-1_", now: now) == nil)
        #expect(credentials.credential(of: "vsk_a-1", now: now) == nil)
    }

    @Test(arguments: [
        ("{}", "array"), ("[{}]", "id"), (#"[{"id":"a_b"}]"#, "id"), (#"[{"id":"a","sha256":"00"}]"#, "sha256"),
        ("nonsense", "JSON"),
    ])
    func `a wrong file says what is wrong`(text: String, word: String) {
        let error = #expect(throws: ServiceCredentials.FileError.self) {
            try ServiceCredentials(parsing: Array(text.utf8))
        }
        #expect(error?.description.contains(word) == true)
    }

    @Test func `an unknown scope is named beside the known ones`() {
        let error = #expect(throws: ServiceCredentials.FileError.self) {
            try ServiceCredentials(
                parsing: Array(String(decoding: file(), as: UTF8.self).replacing("explain:read", with: "all").utf8)
            )
        }
        #expect(error?.description.contains("explain:read") == true)
    }
}
