import GatewayAPI
import HTTPServer
import Kernel
import Notifications
import PostgresClient
import Synchronization
import Testing

struct ActivityTests {
    private let path = "/api/v1/activities"

    private func reports(_ fixture: GatewayFixture) -> [ActivityReport] {
        fixture.memory.state.withLock { $0.activity }
    }

    @Test func `an app reports for its own user, now or with the moment it happened (G9)`() async throws {
        let fixture = try GatewayFixture()
        #expect(try await fixture.user(.post, path, ["type": "impulse"]).data == ["accepted": 1])
        let earlier = fixture.clock.now - .seconds(3600)
        let body: JSONValue = ["type": "entry", "occurredAt": .string(earlier.rfc3339)]
        #expect(try await fixture.user(.post, path, body).status == 200)
        let user = try #require(UserID("u1"))
        #expect(
            reports(fixture) == [
                ActivityReport(userID: user, at: fixture.clock.now), ActivityReport(userID: user, at: earlier),
            ]
        )
    }

    @Test(arguments: [(299, 200), (300, 200), (301, 422)])
    func `a clock that is a little ahead counts as now, a future moment is refused (G9)`(
        seconds: Int,
        status: Int
    ) async throws {
        let fixture = try GatewayFixture()
        let moment = fixture.clock.now + .seconds(seconds)
        let answer = try await fixture.user(.post, path, ["type": "entry", "occurredAt": .string(moment.rfc3339)])
        #expect(answer.status == status)
        #expect(reports(fixture).map(\.at) == (status == 200 ? [fixture.clock.now] : []))
        if status == 422 { #expect(answer.text.contains("/occurredAt")) }
    }

    @Test func `a backend with the scope reports for many at a time (G9)`() async throws {
        let fixture = try GatewayFixture()
        let body: JSONValue = [
            "activities": [
                ["userId": "u1", "type": "entry", "occurredAt": "2026-11-30T10:00:00+01:00"],
                ["userId": "u2", "type": "impulse"],
            ]
        ]
        #expect(try await fixture.service(.post, path, body).data == ["accepted": 2])
        #expect(reports(fixture).map(\.userID.rawValue) == ["u1", "u2"])
        #expect(reports(fixture).first?.at == Timestamp(rfc3339: "2026-11-30T09:00:00Z"))
        #expect(try await fixture.service(.post, path, body, as: "writer").status == 403)
        #expect(try await fixture.send(.post, path, body).status == 401)
        #expect(try await fixture.send(.post, path, body, bearer: "x.y.z").status == 401)
    }

    @Test func `a batch is taken whole or not at all, and every fault is named (G9)`() async throws {
        let fixture = try GatewayFixture()
        let body: JSONValue = [
            "activities": [
                ["userId": "u1", "type": "entry"], ["userId": 7, "type": "entry"], ["userId": "u2", "type": "nap"],
                ["userId": "u3"], ["userId": "u4", "type": "entry", "occurredAt": "yesterday"], "x",
            ]
        ]
        let answer = try await fixture.service(.post, path, body)
        #expect(answer.status == 422)
        for pointer in ["1/userId", "2/type", "3/type", "4/occurredAt", "5"] {
            #expect(answer.text.contains("\"/activities/\(pointer)\""), "\(pointer) in \(answer.text)")
        }
        #expect(reports(fixture).isEmpty)
        let many = JSONValue.array(Array(repeating: ["userId": "u", "type": "entry"], count: 1001))
        for wrong in [["activities": many], ["activities": []], ["type": "entry"]] as [JSONValue] {
            #expect(try await fixture.service(.post, path, wrong).status == 422)
        }
        #expect(try await fixture.user(.post, path, ["type": "entry", "userId": "other"]).status == 422)
        #expect(reports(fixture).isEmpty)
    }

    @Test func `activity reaches the database and only moves forward (G9)`() async throws {
        try await LiveGateway.run { live in
            let fixture = live.fixture
            func report(_ moment: Timestamp) async throws {
                let body: JSONValue = ["type": "entry", "occurredAt": .string(moment.rfc3339)]
                #expect(try await fixture.user(.post, path, body).status == 200)
            }
            func stored() async throws -> [String] {
                try await live.lines(
                    "SELECT user_id || ' ' || extract(epoch FROM last_activity_at)::bigint AS line FROM user_activity"
                )
            }
            let now = fixture.clock.now
            try await report(now - .seconds(60))
            try await report(now - .seconds(600))
            #expect(try await stored() == ["u1 \(now.seconds - 60)"])
            try await report(now)
            try await report(now)
            #expect(try await stored() == ["u1 \(now.seconds)"])
        }
    }
}
