import GatewayAPI
import HTTPServer
import Kernel
import Notifications
import Observability
import Signing
import Synchronization
import Testing

/// What stands between strangers and the handlers.
@Suite struct GuardTests {
    @Test func `a stranger's body is refused before anything of it is parsed (G11)`() async throws {
        let fixture = try GatewayFixture()
        for (path, token) in [
            ("/api/v1/notifications/bulk", nil), ("/api/v1/notifications/bulk", "not.a.token"),
            ("/api/v1/notifications/bulk", GatewayFixture.serviceToken("reader")),
            ("/api/v1/notifications/silence", "x.y.z"), ("/api/v1/notifications/dev/ping", nil),
        ] as [(String, String?)] {
            var headers: HTTPHeaders = ["Content-Type": "application/json"]
            if let token { headers.add("Authorization", "Bearer \(token)") }
            // No JSON at all: whoever parsed it would answer 400.
            let answer = await fixture.client.send(.post, path, headers: headers, body: Array("{".utf8))
            #expect([401, 403].contains(answer.status), "\(path): \(answer.status)")
        }
    }

    @Test func `addresses of one /64 share a limit, and others have their own (G1)`() {
        let limiter = RegistrationLimiter(
            perMinute: 60,
            burst: 2,
            clock: FixedWallClock(Timestamp(milliseconds: 1_796_083_200_000))
        )
        #expect(limiter.take("2001:db8:1:2::1") == nil)
        #expect(limiter.take("2001:db8:1:2:ffff::9") == nil)
        #expect(limiter.take("2001:db8:1:2:a:b:c:d") == 1)
        #expect(limiter.take("2001:db8:1:3::1") == nil)
        #expect(limiter.take("192.0.2.1") == nil)
        #expect(limiter.take("::ffff:192.0.2.1") == nil)
        #expect(limiter.take("192.0.2.1") == 1)
        #expect(limiter.take("192.0.2.2") == nil)
    }

    @Test func `a limiter's memory is bounded, and its busiest client stays known`() {
        let limiter = RegistrationLimiter(
            perMinute: 1,
            burst: 3,
            capacity: 100,
            clock: FixedWallClock(Timestamp(milliseconds: 1_796_083_200_000))
        )
        for number in 0..<10_000 {
            _ = limiter.take("10.\(number / 65_536).\(number / 256 % 256).\(number % 256)")
            if number % 20 == 0 { _ = limiter.take("192.0.2.7") }
            #expect(limiter.count <= 101)
        }
        #expect(limiter.take("192.0.2.7") == 60)
    }

    @Test func `a limited registration says when to come back (G1)`() async throws {
        let fixture = try GatewayFixture(registrations: 1)
        let path = "/api/v1/notifications/device-token"
        #expect(try await fixture.send(.post, path, ["token": "t"]).status == 200)
        let answer = try await fixture.send(.post, path, ["token": "t"])
        #expect(answer.status == 429)
        #expect(answer.headers["retry-after"] == "1")
        fixture.clock.advance(by: .seconds(1))
        #expect(try await fixture.send(.post, path, ["token": "t"]).status == 200)
    }

    @Test func `a pointer names a member as RFC 6901 wants it`() {
        #expect(JSONPointer.token("plain") == "plain")
        #expect(JSONPointer.token("a/b~c") == "a~1b~0c")
        #expect(JSONPointer.token("~1") == "~01")
    }

    @Test func `reset clears every week that can still count (G8)`() async throws {
        let fixture = try GatewayFixture()
        #expect(try await fixture.developer("reset").status == 200)
        #expect(
            Set(fixture.memory.state.withLock(\.clearedWeeks)) == ["2026-W48", "2026-W49", "2026-W50"]
        )
    }

    @Test func `a backend changes its token without a gap (G10)`() throws {
        let now = Timestamp(milliseconds: 1_796_083_200_000)
        func entry(_ token: String, _ extra: String = "") -> String {
            #"{"id":"a","sha256":"\#(Hex.encode(SHA256.hash(token)))","scopes":["explain:read"]\#(extra)}"#
        }
        let old = "vsk_a_old", new = "vsk_a_new"
        let both = try ServiceCredentials(
            parsing: Array("[\(entry(old, #","notAfter":"2026-12-01T00:00:10Z""#)),\(entry(new))]".utf8)
        )
        #expect(both.credential(of: old, now: now)?.id == "a")
        #expect(both.credential(of: new, now: now)?.id == "a")
        #expect(both.credential(of: old, now: now + .seconds(10)) == nil)
        #expect(both.credential(of: new, now: now + .seconds(10))?.id == "a")
        for wrong in [
            "[\(entry(old)),\(entry(old))]", "[\(entry(old)),\(entry(new)),\(entry("vsk_a_third"))]",
        ] {
            #expect(throws: ServiceCredentials.FileError.self) { try ServiceCredentials(parsing: Array(wrong.utf8)) }
        }
    }

    @Test func `no log holds a whole device token, access token or secret (G2)`() async throws {
        let fixture = try GatewayFixture()
        let device = String(repeating: "c0ffee42", count: 8)
        let user = try fixture.userToken("u1")
        let expired = try fixture.userToken("u1", lifetime: .seconds(-500))
        let secrets = [device, user, expired, GatewayFixture.serviceToken("all"), GatewayFixture.developerToken]
        for outage in [nil, Unavailable(dependency: "postgresql", reason: "gone")] {
            fixture.memory.state.withLock { $0.outage = outage }
            for endpoint in fixture.gateway.endpoints {
                let path = endpoint.path.replacing("{token}", with: device).replacing("{id}", with: device)
                    .replacing("{messageId}", with: device).replacing("{streamId}", with: device)
                for bearer in [user, expired, GatewayFixture.serviceToken("all"), GatewayFixture.serviceToken("none")] {
                    let body: JSONValue = [
                        "token": .string(device), "userId": .string(device), "body": .string(device),
                    ]
                    _ = await fixture.client.send(
                        endpoint.method,
                        path,
                        headers: [
                            "Authorization": "Bearer \(bearer)", "Content-Type": "application/json",
                            "X-Dev-Token": GatewayFixture.developerToken, "Idempotency-Key": "k",
                        ],
                        body: body.utf8
                    )
                }
            }
        }
        let log = fixture.sink.lines.joined(separator: "\n")
        #expect(log.contains("request"))
        for secret in secrets {
            // Not even the greater part of one.
            #expect(!log.contains(secret.dropFirst(secret.count / 2)), "\(secret.prefix(12))…")
        }
    }
}
