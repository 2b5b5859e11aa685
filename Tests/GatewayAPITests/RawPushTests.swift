import HTTPServer
import Kernel
import Notifications
import Observability
import PostgresClient
import PushSimulator
import PushTransport
import Synchronization
import Testing

@testable import GatewayAPI

/// Pushes outside categories and caps, over a real database and the simulator of APNs.
@Suite struct RawPushTests {
    private static let path = "/api/v1/pushes"

    private func devices(_ answer: GatewayFixture.Answer) -> [String] {
        (answer.data["devices"]?.arrayValue ?? []).map {
            "\($0["deviceId"]?.stringValue ?? "") \($0["result"]?.stringValue ?? "")"
        }
        .sorted()
    }

    @Test func `a background push wakes every device, whatever the user said of notifications (A2)`() async throws {
        try await DirectStage.run { stage in
            try await stage.addDevice("u1", "phone", [JSONMember("token", .string(DirectStage.token("d1")))])
            let denied = [
                JSONMember("token", .string(DirectStage.token("d2"))), JSONMember("permissionStatus", "denied"),
            ]
            try await stage.addDevice("u1", "pad", denied)
            let body: JSONValue = ["userId": "u1", "type": "background", "data": ["sync": "orders"]]
            let answer = try await stage.fixture.service(.post, Self.path, body)
            #expect(answer.status == 200)
            #expect(devices(answer) == ["pad accepted", "phone accepted"])
            let push = try #require(stage.simulator.pushes(token: DirectStage.token("d2")).first)
            #expect(push.pushType == "background")
            #expect(push.priority == 5)
            #expect(push.topic == "com.example.app")
            #expect(push.apnsID.description == answer.data["messageId"]?.stringValue)
            #expect(try JSONValue(parsing: push.body) == ["aps": ["content-available": 1], "sync": "orders"])

            let one: JSONValue = ["userId": "u1", "type": "background", "deviceId": "pad"]
            #expect(devices(try await stage.fixture.service(.post, Self.path, one)) == ["pad accepted"])
            let nobody: JSONValue = ["userId": "u2", "type": "background"]
            #expect(try await stage.fixture.service(.post, Self.path, nobody).slug == "no-device")
            #expect(try await stage.fixture.service(.post, Self.path, one, as: "writer").status == 403)
        }
    }

    @Test func `a call goes to the PushKit token, is tried once and may fill 5,120 bytes (A2)`() async throws {
        try await DirectStage.run { stage in
            let tokens = [
                JSONMember("token", .string(DirectStage.token("d1"))),
                JSONMember("voipToken", .string(DirectStage.token("ca"))),
            ]
            try await stage.addDevice("u1", "phone", tokens)
            func call(_ length: Int) -> JSONValue {
                ["userId": "u1", "type": "voip", "data": ["call": .string(String(repeating: "x", count: length))]]
            }
            // {"call":"…"} has eleven bytes beside the text.
            let answer = try await stage.fixture.service(.post, Self.path, call(5120 - 11))
            #expect(answer.status == 200)
            #expect(devices(answer) == ["phone accepted"])
            let push = try #require(stage.simulator.pushes().first)
            #expect(push.deviceToken == DirectStage.token("ca"))
            #expect(push.topic == "com.example.app.voip")
            #expect(push.priority == 10)
            #expect(push.expiration == 0)
            #expect(try await stage.fixture.service(.post, Self.path, call(5120 - 10)).slug == "payload-too-large")

            // The phone changes hands, and its PushKit token with it.
            try await stage.addDevice("u2", "phone", tokens)
            #expect(try await stage.fixture.service(.post, Self.path, call(1)).slug == "no-device")
        }
    }

    @Test func `a dead device token goes by the engine's rule, a dead call token alone (E9)`() async throws {
        try await DirectStage.run { stage in
            let tokens = [
                JSONMember("token", .string(DirectStage.token("d1"))),
                JSONMember("voipToken", .string(DirectStage.token("ca"))),
            ]
            try await stage.addDevice("u1", "phone", tokens)
            func refuse(_ token: String, _ timestamp: Int64?) {
                stage.simulator.clearFaults()
                stage.simulator.addFault(
                    FaultRule(
                        .refuse(status: 410, reason: "Unregistered", timestamp: timestamp, retryAfter: nil),
                        token: DirectStage.token(token)
                    )
                )
            }
            func state() async throws -> [String] {
                try await stage.live.lines(
                    """
                    SELECT concat_ws(':', ios_permission_status, invalid_reason, coalesce(left(voip_token, 2), '-')) AS line
                    FROM devices JOIN user_notification_preferences USING (user_id)
                    """
                )
            }
            let wake: JSONValue = ["userId": "u1", "type": "background"]
            let call: JSONValue = ["userId": "u1", "type": "voip", "data": ["a": "b"]]
            refuse("d1", SystemWallClock().now.milliseconds - 3_600_000)
            #expect(devices(try await stage.fixture.service(.post, Self.path, wake)) == ["phone dead"])
            #expect(try await state() == ["granted:ca"])
            refuse("ca", nil)
            #expect(devices(try await stage.fixture.service(.post, Self.path, call)) == ["phone dead"])
            #expect(try await state() == ["granted:-"])
            refuse("d1", nil)
            #expect(devices(try await stage.fixture.service(.post, Self.path, wake)) == ["phone dead"])
            #expect(try await state() == ["denied:Unregistered:-"])
            #expect(try await stage.fixture.service(.post, Self.path, wake).slug == "no-device")
        }
    }

    @Test(arguments: [
        (#"{"type":"background"}"#, "/userId"), (#"{"userId":"u 1","type":"background"}"#, "/userId"),
        (#"{"userId":"u1"}"#, "/type"), (#"{"userId":"u1","type":"alert"}"#, "/type"),
        (#"{"userId":"u1","type":"voip"}"#, "/data"), (#"{"userId":"u1","type":"background","data":[]}"#, "/data"),
        (#"{"userId":"u1","type":"background","expiresAt":5}"#, "/expiresAt"),
    ])
    func `a raw push that is none is pointed at`(body: String, pointer: String) async throws {
        try await DirectStage.run { stage in
            let answer = try await stage.fixture.service(.post, Self.path, JSONValue(parsing: body))
            #expect(answer.status == 422)
            #expect(answer.json["pointer"]?.stringValue == pointer)
            let aps: JSONValue = ["userId": "u1", "type": "background", "data": ["aps": [:]]]
            #expect(try await stage.fixture.service(.post, Self.path, aps).status == 422)
        }
    }

    @Test func `a key whose push was refused stands for that body alone (G10)`() async throws {
        try await DirectStage.run { stage in
            let wrong: JSONValue = ["userId": "u1", "type": "alert"]
            for _ in 0..<2 {
                #expect(try await stage.fixture.service(.post, Self.path, wrong, key: "k").status == 422)
            }
            let right: JSONValue = ["userId": "u1", "type": "background"]
            let other = try await stage.fixture.service(.post, Self.path, right, key: "k")
            #expect(other.slug == "idempotency-key-reused")
        }
    }

    @Test func `an account that Apple refuses is answered 503, and the same key sends once it is mended`() async throws
    {
        try await DirectStage.run { stage in
            try await stage.addDevice("u1", "phone", [JSONMember("token", .string(DirectStage.token("d1")))])
            stage.simulator.addFault(
                FaultRule(.refuse(status: 403, reason: "InvalidProviderToken", timestamp: nil, retryAfter: nil))
            )
            let body: JSONValue = ["userId": "u1", "type": "background"]
            for _ in 0..<2 {
                let answer = try await stage.fixture.service(.post, Self.path, body, key: "k")
                #expect(answer.slug == "push-unavailable")
                #expect(answer.headers["retry-after"] != nil)
            }
            // The pool was stopped by the first: the second never left.
            #expect(stage.simulator.refusedCounts["InvalidProviderToken"] == 1)
        }
    }

    // MARK: Bounds

    /// Keeps every push without an outcome until told.
    private final class HeldPushes: DirectPushing {
        private let held = Mutex<[@Sendable (PushOutcome) -> Void]>([])

        func send(_ request: PushRequest, completion: @escaping @Sendable (PushOutcome) -> Void) {
            held.withLock { $0.append(completion) }
        }

        func answer(_ outcome: PushOutcome) {
            let all = held.withLock { held in
                defer { held = [] }
                return held
            }
            for one in all { one(outcome) }
        }
    }

    @Test func `what is pending at the deadline is told so, and settled when it ends`() async throws {
        let push = HeldPushes()
        let sender = DirectSender(push: push, telemetry: .silent(), deadline: .milliseconds(20))
        let user = try #require(UserID("u1"))
        let target = PushTarget(userID: user, deviceID: "d", token: "t", environment: .production, topic: "app")
        let template = PushRequest(
            deviceToken: "",
            environment: .production,
            topic: "",
            messageID: UUIDBits(high: 0, low: 0),
            payload: []
        )
        let (settled, settle) = AsyncStream.makeStream(of: PushOutcome.self)
        let outcomes = try await sender.send(template, to: [target], kind: .background) { results in
            for result in results { settle.yield(result.outcome) }
        }
        #expect(outcomes == [nil])
        #expect(DirectAnswer.counts(outcomes)["pending"] == 1)
        // A call that would hold too much in memory is let in only when nothing else is held.
        let many = Array(repeating: target, count: DirectSender.limit)
        await #expect(throws: Problem.self) {
            _ = try await sender.send(template, to: many, kind: .background) { _ in }
        }
        push.answer(.dead(reason: "Unregistered", at: nil))
        var late = settled.makeAsyncIterator()
        #expect(await late.next() == .dead(reason: "Unregistered", at: nil))
    }
}
