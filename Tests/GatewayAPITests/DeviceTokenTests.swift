import GatewayAPI
import HTTPServer
import Kernel
import Notifications
import Observability
import Synchronization
import Testing

@Suite struct DeviceTokenTests {
    private static let path = "/api/v1/notifications/device-token"
    private static let apns = String(repeating: "Ab", count: 32)

    @Test func `with a bearer the device is the user's`() async throws {
        let fixture = try GatewayFixture()
        let answer = try await fixture.user(
            .post,
            Self.path,
            [
                "token": .string(Self.apns), "platform": "ios", "deviceId": "iphone-15", "timezone": "Europe/Istanbul",
                "liveActivityPushToStartToken": "p2s",
            ]
        )
        #expect(answer.status == 200)
        #expect(!answer.text.contains(Self.apns.lowercased()))
        let registration = try #require(fixture.memory.state.withLock { $0.registrations.first })
        #expect(registration.user?.rawValue == "u1")
        #expect(registration.device.provider == .apns)
        #expect(registration.device.token == Self.apns.lowercased())
        #expect(registration.device.permission == .granted)
        #expect(registration.device.timezone == "Europe/Istanbul")
        #expect(registration.device.topic == "com.example.app")
        #expect(registration.device.pushToStartToken == "p2s")
    }

    @Test(arguments: [nil, "not.a.token", GatewayFixture.serviceToken("all")])
    func `without a valid user token the row is nobody's and the answer is the same`(bearer: String?) async throws {
        let fixture = try GatewayFixture()
        let body: JSONValue = ["token": "fcm:Token", "deviceId": "iphone-15"]
        let anonymous = try await fixture.send(.post, Self.path, body, bearer: bearer)
        let signedIn = try await fixture.user(.post, Self.path, body)
        #expect(anonymous.status == 200)
        #expect(anonymous.data == signedIn.data)
        let registrations = fixture.memory.state.withLock { $0.registrations }
        #expect(registrations.map(\.user?.rawValue) == [nil, "u1"])
        #expect(registrations[0].device.provider == .fcm)
        #expect(registrations[0].device.token == "fcm:Token")
    }

    @Test func `an empty token still updates the rest and answers null`() async throws {
        let fixture = try GatewayFixture()
        let body: JSONValue = ["token": "", "deviceId": "d", "timezone": "Europe/Oslo"]
        let answer = try await fixture.user(.post, Self.path, body)
        #expect(answer.status == 200)
        #expect(answer.text == #"{"data":null}"#)
        let device = try #require(fixture.memory.state.withLock { $0.registrations.first?.device })
        #expect(device.token == nil)
        #expect(device.permission == nil)
        #expect(device.timezone == "Europe/Oslo")
        let anonymous = try await fixture.send(.post, Self.path, body)
        #expect(anonymous.text == #"{"data":null}"#)
        #expect(fixture.memory.state.withLock { $0.registrations.count } == 1)
    }

    @Test func `a permission that is said goes before one that is concluded`() async throws {
        let fixture = try GatewayFixture()
        _ = try await fixture.user(.post, Self.path, ["token": "t", "permissionStatus": "denied"])
        #expect(fixture.memory.state.withLock { $0.registrations.first?.device.permission } == .denied)
    }

    @Test(arguments: [
        (#"{"token": 5}"#, "/token"), (#"{"token":"t","provider":"wns"}"#, "/provider"),
        (#"{"token":"zz","provider":"apns"}"#, "/token"),
        (#"{"token":"t","permissionStatus":"yes"}"#, "/permissionStatus"),
        (#"{"token":"t","environment":"test"}"#, "/environment"), (#"{"token":"a\nb"}"#, "/token"), (#"[]"#, ""),
    ])
    func `what is wrong is pointed at`(body: String, pointer: String) async throws {
        let fixture = try GatewayFixture()
        let answer = try await fixture.user(.post, Self.path, JSONValue(parsing: body))
        #expect(answer.status == 422)
        #expect(answer.json["pointer"]?.stringValue == pointer)
        #expect(fixture.memory.state.withLock { $0.registrations.isEmpty })
    }

    @Test func `all faults are told at once`() async throws {
        let fixture = try GatewayFixture()
        let answer = try await fixture.user(.post, Self.path, ["token": 1, "platform": 2, "timezone": 3])
        #expect(answer.json["errors"]?.arrayValue?.count == 3)
    }

    @Test func `deleting needs a bearer, answers 204 either way, and takes the token as it stands in the path`()
        async throws
    {
        let fixture = try GatewayFixture()
        let anonymous = try await fixture.send(.delete, Self.path + "/abc%3Adef")
        #expect(anonymous.status == 204)
        #expect(anonymous.text.isEmpty)
        #expect(fixture.memory.state.withLock { $0.removed.isEmpty })
        #expect(try await fixture.user(.delete, Self.path + "/abc%3Adef").status == 204)
        #expect(try await fixture.user(.delete, Self.path + "/" + Self.apns).status == 204)
        let removed = fixture.memory.state.withLock { $0.removed }
        // What looks like Apple's may have been registered as Google's.
        #expect(Set(removed.map(\.token)) == ["abc:def", Self.apns.lowercased(), Self.apns])
        #expect(removed.map(\.provider) == [.fcm, .apns, .fcm])
        #expect(!fixture.sink.lines.joined().contains("abc:def"))
    }

    @Test func `one address cannot register without end`() async throws {
        let fixture = try GatewayFixture(registrations: 3)
        for _ in 0..<3 {
            #expect(try await fixture.send(.post, Self.path, ["token": "t"]).status == 200)
        }
        let refused = try await fixture.send(.post, Self.path, ["token": "t"])
        #expect(refused.status == 429)
        #expect(refused.headers["retry-after"] == "1")
        fixture.clock.advance(by: .seconds(1))
        #expect(try await fixture.send(.post, Self.path, ["token": "t"]).status == 200)
    }

    @Test func `other methods, types and sizes are refused`() async throws {
        let fixture = try GatewayFixture()
        let put = try await fixture.user(.put, Self.path)
        #expect(put.status == 405)
        #expect(put.headers["allow"] == "OPTIONS, POST")
        #expect(try await fixture.user(.get, Self.path + "s").status == 404)
        let text: HTTPHeaders = ["Content-Type": "text/plain"]
        #expect(try await fixture.send(.post, Self.path, ["token": "t"], headers: text).status == 415)
        let large: JSONValue = ["token": .string(String(repeating: "x", count: 70_000))]
        #expect(try await fixture.send(.post, Self.path, large).status == 413)
    }

    @Test func `a store that does not answer is told as such`() async throws {
        let fixture = try GatewayFixture()
        fixture.memory.state.withLock {
            $0.outage = Unavailable(dependency: "postgresql", reason: "connection refused")
        }
        let answer = try await fixture.send(.post, Self.path, ["token": "t"])
        #expect(answer.status == 503)
        #expect(answer.headers["retry-after"] == "2")
        #expect(!answer.text.contains("postgresql"))
        #expect(
            fixture.telemetry.metrics.render().contains(
                #"gateway_dependency_failures_total{dependency="postgresql"} 1"#
            )
        )
    }
}
