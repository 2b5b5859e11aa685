import HTTPServer
import Kernel
import Notifications
import PostgresClient
import PushSimulator
import Testing

/// Live Activities over a real database and the simulator of APNs.
@Suite struct LiveActivityTests {
    private static let sessions = "/api/v1/notifications/live-activity-sessions"

    private func path(_ event: String, _ stream: String = "order-1") -> String {
        "/api/v1/live-activities/\(stream)/\(event)"
    }

    @Test func `an app reports its activities, renews their tokens and takes back its own alone (G3)`() async throws {
        try await DirectStage.run { stage in
            for (user, stream, token) in [("u1", "order-1", "a1"), ("u1", "order-2", "a2"), ("u2", "order-1", "b1")] {
                #expect(try await stage.addSession(user, stream, "phone", token: DirectStage.token(token)) == 200)
            }
            #expect(
                try await stage.addSession("u1", "order-1", "phone", token: DirectStage.token("a3").uppercased()) == 200
            )
            #expect(
                try await stage.sessions() == ["order-1:u1:phone:a3", "order-1:u2:phone:b1", "order-2:u1:phone:a2"]
            )

            for other in ["u2", "u3"] {
                let answer = try await stage.fixture.user(.delete, "\(Self.sessions)/order-2/phone", as: other)
                #expect(answer.status == 204)
            }
            #expect(try await stage.fixture.user(.delete, "\(Self.sessions)/order-1/phone").status == 204)
            #expect(try await stage.sessions() == ["order-1:u2:phone:b1", "order-2:u1:phone:a2"])
            #expect(try await stage.fixture.send(.delete, "\(Self.sessions)/order-2/phone").status == 401)
            #expect(try await stage.fixture.send(.post, Self.sessions, ["streamId": "x"]).status == 401)
        }
    }

    @Test func `an activity's token moves with the phone, and a logout takes its activities along (G3)`() async throws {
        try await DirectStage.run { stage in
            let token = DirectStage.token("aa")
            try await stage.addDevice("u1", "phone", [JSONMember("token", .string(DirectStage.token("d1")))])
            _ = try await stage.addSession("u1", "order-1", "phone", token: token)
            _ = try await stage.addSession("u2", "order-1", "phone", token: token)
            #expect(try await stage.sessions() == ["order-1:u2:phone:aa"])
            // Somebody else signs in on the phone of u1.
            _ = try await stage.addSession("u1", "order-1", "phone", token: token)
            try await stage.addDevice("u3", "phone", [JSONMember("token", .string(DirectStage.token("d1")))])
            #expect(try await stage.sessions() == [])
            _ = try await stage.addSession("u3", "order-1", "phone", token: token)
            let logout = "/api/v1/notifications/device-token/\(DirectStage.token("d1"))"
            #expect(try await stage.fixture.user(.delete, logout, as: "u3").status == 204)
            #expect(try await stage.sessions() == [])
        }
    }

    @Test func `of a user's sessions the newest are kept (G3)`() async throws {
        try await DirectStage.run { stage in
            for number in 10..<43 {
                _ = try await stage.addSession("u1", "s\(number)", "phone", token: DirectStage.token("\(number)"))
            }
            let left = try await stage.sessions()
            #expect(left.count == 32)
            #expect(left.first == "s11:u1:phone:11")
        }
    }

    @Test(arguments: [
        (#"{"deviceId":"d","liveActivityToken":"t"}"#, "/streamId"),
        (#"{"streamId":"a b","deviceId":"d","liveActivityToken":"t"}"#, "/streamId"),
        (#"{"streamId":"s","liveActivityToken":"t"}"#, "/deviceId"),
        (#"{"streamId":"s","deviceId":"d","liveActivityToken":""}"#, "/liveActivityToken"),
        (#"{"streamId":"s","deviceId":"d","liveActivityToken":"t","environment":"staging"}"#, "/environment"),
    ])
    func `a session that is none is pointed at (G3)`(body: String, pointer: String) async throws {
        try await DirectStage.run { stage in
            let answer = try await stage.fixture.user(.post, Self.sessions, JSONValue(parsing: body))
            #expect(answer.status == 422)
            #expect(answer.json["pointer"]?.stringValue == pointer)
        }
    }

    @Test func `an update reaches every session of the stream, page by page (A2, G3)`() async throws {
        try await DirectStage.run { stage in
            for user in ["u1", "u2", "u3", "u4", "u5"] {
                _ = try await stage.addSession(user, "order-1", "phone", token: DirectStage.token("0" + user.suffix(1)))
            }
            _ = try await stage.addSession("u1", "order-2", "phone", token: DirectStage.token("ff"))
            var body: [JSONMember] = [
                JSONMember("contentState", ["status": "cooking"]), JSONMember("staleDate", "2026-12-01T12:00:00Z"),
                JSONMember("relevanceScore", .number(JSONNumber(text: "0.5"))), JSONMember("priority", 5),
                JSONMember("limit", 2), JSONMember("expiresAt", "2026-12-01T13:00:00Z"),
            ]
            var reached: [Int64] = []
            for _ in 0..<3 {
                let answer = try await stage.fixture.service(.post, path("update"), .object(body))
                #expect(answer.status == 200)
                reached.append(try #require(answer.data["pushes"]?["accepted"]?.integerValue))
                #expect(answer.data["failures"] == [])
                body.removeAll { $0.name == "cursor" }
                guard let cursor = answer.data["cursor"], cursor != .null else { break }
                body.append(JSONMember("cursor", cursor))
            }
            #expect(reached == [2, 2, 1])
            let pushes = stage.simulator.pushes()
            #expect(Set(pushes.map(\.deviceToken)) == Set(["01", "02", "03", "04", "05"].map(DirectStage.token)))
            let push = try #require(pushes.first)
            #expect(push.topic == "com.example.app.push-type.liveactivity")
            #expect(push.pushType == "liveactivity")
            #expect(push.priority == 5)
            #expect(push.collapseID == nil)
            #expect(push.expiration == Timestamp(rfc3339: "2026-12-01T13:00:00Z")?.seconds)
            let aps = try JSONValue(parsing: push.body)["aps"]
            #expect(aps?["event"] == "update")
            #expect(aps?["timestamp"]?.integerValue == stage.fixture.clock.now.seconds)
            #expect(aps?["content-state"] == ["status": "cooking"])
            #expect(aps?["stale-date"]?.integerValue == Timestamp(rfc3339: "2026-12-01T12:00:00Z")?.seconds)
            #expect(try await stage.sessions().count == 6)
        }
    }

    @Test func `what was ended is over, for the named users alone (A2, G3)`() async throws {
        try await DirectStage.run { stage in
            for user in ["u1", "u2"] {
                _ = try await stage.addSession(user, "order-1", "phone", token: DirectStage.token("0" + user.suffix(1)))
            }
            let body: JSONValue = [
                "contentState": ["status": "delivered"], "dismissalDate": "2026-12-01T09:00:00Z", "userIds": ["u1"],
            ]
            let answer = try await stage.fixture.service(.post, path("end"), body)
            #expect(answer.data["pushes"]?["accepted"] == 1)
            #expect(try await stage.sessions() == ["order-1:u2:phone:02"])
            let aps = try JSONValue(parsing: try #require(stage.simulator.pushes().first).body)["aps"]
            #expect(aps?["event"] == "end")
            #expect(aps?["dismissal-date"]?.integerValue == Timestamp(rfc3339: "2026-12-01T09:00:00Z")?.seconds)
            // An end needs no last state.
            #expect(try await stage.fixture.service(.post, path("end"), [:]).data["pushes"]?["accepted"] == 1)
            #expect(try await stage.sessions() == [])
        }
    }

    @Test func `a start reaches push-to-start tokens and names who has none (A2)`() async throws {
        try await DirectStage.run { stage in
            let start = JSONMember("liveActivityPushToStartToken", .string(DirectStage.token("51")))
            // An iOS app that registers with FCM is started through Apple all the same.
            try await stage.addDevice("u1", "phone", [JSONMember("token", "fcm-token"), start])
            try await stage.addDevice("u2", "phone", [JSONMember("token", .string(DirectStage.token("d2")))])
            let body: JSONValue = [
                "userIds": ["u1", "u2", "u1"], "attributesType": "OrderAttributes",
                "attributes": ["streamId": "order-1"], "contentState": ["status": "taken"],
                "alert": ["title": "Order", "body": "Taken"],
            ]
            let answer = try await stage.fixture.service(.post, path("start"), body)
            #expect(answer.status == 200)
            #expect(answer.data["pushes"]?["accepted"] == 1)
            #expect(answer.data["usersWithoutToken"] == ["u2"])
            let push = try #require(stage.simulator.pushes().first)
            #expect(push.deviceToken == DirectStage.token("51"))
            #expect(push.priority == 10)
            let aps = try JSONValue(parsing: push.body)["aps"]
            #expect(aps?["event"] == "start")
            #expect(aps?["attributes-type"] == "OrderAttributes")
            #expect(aps?["attributes"] == ["streamId": "order-1"])
            #expect(aps?["input-push-token"] == 1)
            #expect(aps?["alert"]?["title"] == "Order")

            // The phone changes hands: its push-to-start token is the new user's alone.
            try await stage.addDevice("u2", "phone", [start])
            let again = try await stage.fixture.service(.post, path("start"), body)
            #expect(again.data["usersWithoutToken"] == ["u1"])
        }
    }

    @Test func `a dead token ends its session, one told again since stays (G3, E9)`() async throws {
        try await DirectStage.run { stage in
            for (number, user) in ["u1", "u2", "u3", "u4"].enumerated() {
                _ = try await stage.addSession(user, "order-1", "phone", token: DirectStage.token("0\(number + 1)"))
            }
            _ = try await stage.addSession("u5", "order-1", "phone", token: "no-token-at-all")
            let now = SystemWallClock().now.milliseconds
            for (token, status, reason, timestamp) in [
                ("01", 410, "Unregistered", now + 60_000), ("02", 410, "ExpiredToken", now - 3_600_000),
                ("03", 400, "BadDeviceToken", nil), ("04", 500, "InternalServerError", nil),
            ] as [(String, Int, String, Int64?)] {
                stage.simulator.addFault(
                    FaultRule(
                        .refuse(status: status, reason: reason, timestamp: timestamp, retryAfter: nil),
                        token: DirectStage.token(token)
                    )
                )
            }
            let answer = try await stage.fixture.service(.post, path("update"), ["contentState": ["a": 1]])
            #expect(answer.status == 200)
            let results = (answer.data["failures"]?.arrayValue ?? []).map {
                "\($0["userId"]?.stringValue ?? "") \($0["result"]?.stringValue ?? "") \($0["reason"]?.stringValue ?? "")"
            }
            #expect(
                results == [
                    "u1 dead Unregistered", "u2 dead ExpiredToken", "u3 dead BadDeviceToken",
                    "u4 retry InternalServerError", "u5 rejected MalformedDeviceToken",
                ]
            )
            #expect(try await stage.sessions() == ["order-1:u2:phone:02", "order-1:u4:phone:04"])
            #expect(!answer.text.contains(DirectStage.token("01")))
        }
    }

    @Test func `a dead push-to-start token is forgotten and nothing else of the device (E9)`() async throws {
        try await DirectStage.run { stage in
            try await stage.addDevice(
                "u1",
                "phone",
                [
                    JSONMember("token", .string(DirectStage.token("d1"))),
                    JSONMember("liveActivityPushToStartToken", .string(DirectStage.token("51"))),
                ]
            )
            stage.simulator.addFault(
                FaultRule(
                    .refuse(status: 410, reason: "Unregistered", timestamp: nil, retryAfter: nil),
                    token: DirectStage.token("51")
                )
            )
            let body: JSONValue = [
                "userIds": ["u1"], "attributesType": "A", "attributes": [:], "contentState": [:],
                "alert": ["body": "b"],
            ]
            let answer = try await stage.fixture.service(.post, path("start"), body)
            #expect(answer.data["pushes"]?["dead"] == 1)
            let rows = try await stage.live.lines(
                """
                SELECT concat_ws(':', left(token, 2), coalesce(push_to_start_token, '-'), invalidated_at) AS line
                FROM devices
                """
            )
            #expect(rows == ["d1:-"])
        }
    }

    @Test func `the same key sends once, another stream under it is refused (G10)`() async throws {
        try await DirectStage.run { stage in
            _ = try await stage.addSession("u1", "order-1", "phone", token: DirectStage.token("01"))
            let body: JSONValue = ["contentState": ["a": 1]]
            let first = try await stage.fixture.service(.post, path("update"), body, key: "k")
            let again = try await stage.fixture.service(.post, path("update"), body, key: "k")
            #expect(again.text == first.text)
            #expect(again.headers["idempotency-replayed"] == "true")
            #expect(stage.simulator.acceptedCount == 1)
            let other = try await stage.fixture.service(.post, path("update", "order-2"), body, key: "k")
            #expect(other.slug == "idempotency-key-reused")
        }
    }

    @Test(arguments: [
        ("update", #"{}"#, "/contentState"), ("update", #"{"contentState":[]}"#, "/contentState"),
        ("update", #"{"contentState":{},"priority":1}"#, "/priority"),
        ("update", #"{"contentState":{},"alert":{}}"#, "/alert"),
        ("update", #"{"contentState":{},"timestamp":"2026-12-01T01:02:00Z"}"#, "/timestamp"),
        ("update", #"{"contentState":{},"cursor":"!"}"#, "/cursor"),
        ("update", #"{"contentState":{},"limit":1001}"#, "/limit"),
        ("update", #"{"contentState":{},"userIds":[]}"#, "/userIds"),
        ("end", #"{"dismissalDate":"tomorrow"}"#, "/dismissalDate"),
        ("start", #"{"attributesType":"A","attributes":{},"contentState":{},"alert":{"body":"b"}}"#, "/userIds"),
        (
            "start",
            #"{"userIds":["u 1"],"attributesType":"A","attributes":{},"contentState":{},"alert":{"body":"b"}}"#,
            "/userIds/0"
        ),
        ("start", #"{"userIds":["u"],"attributes":{},"contentState":{},"alert":{"body":"b"}}"#, "/attributesType"),
        ("start", #"{"userIds":["u"],"attributesType":"A","contentState":{},"alert":{"body":"b"}}"#, "/attributes"),
        ("start", #"{"userIds":["u"],"attributesType":"A","attributes":{},"contentState":{}}"#, "/alert"),
        (
            "start",
            #"{"userIds":["u"],"attributesType":"A","attributes":{},"contentState":{},"alert":{"body":"b"},"input":7}"#,
            "/input"
        ),
    ])
    func `what Apple would refuse or a device ignore is pointed at (A2)`(
        event: String,
        body: String,
        pointer: String
    ) async throws {
        try await DirectStage.run { stage in
            let answer = try await stage.fixture.service(.post, path(event), JSONValue(parsing: body))
            #expect(answer.status == 422)
            #expect(answer.json["pointer"]?.stringValue == pointer)
            let large: JSONValue = ["contentState": ["text": .string(String(repeating: "x", count: 4096))]]
            #expect(try await stage.fixture.service(.post, path("update"), large).slug == "payload-too-large")
            #expect(stage.simulator.acceptedCount == 0)
        }
    }

    @Test func `without a credential for Apple the routes that need one say so, the others go on (G3)`() async throws {
        try await DirectStage.run(providers: [.fcm]) { stage in
            for event in ["start", "update", "end"] {
                let answer = try await stage.fixture.service(.post, path(event), ["contentState": [:]])
                #expect(answer.status == 503)
                #expect(answer.slug == "push-not-configured")
            }
            let call: JSONValue = ["userId": "u1", "type": "voip", "data": ["a": "b"]]
            #expect(try await stage.fixture.service(.post, "/api/v1/pushes", call).slug == "push-not-configured")
            #expect(try await stage.addSession("u1", "order-1", "phone", token: DirectStage.token("01")) == 200)
            #expect(try await stage.fixture.service(.post, path("update"), [:], as: "writer").status == 403)
        }
    }
}
