import GatewayAPI
import HTTPServer
import JobQueue
import Kernel
import Notifications
import PostgresClient
import RedisClient
import Synchronization
import TestSupport
import Testing

/// Calling back and moving what was handed in with a time ahead (G10).
@Suite struct ScheduleTests {
    private static let base = "/api/v1/notifications"

    private func later(_ fixture: GatewayFixture, in time: Duration = .seconds(3600)) -> JSONValue {
        [
            "userId": "u1", "category": "lifecycle", "body": "x",
            "scheduledFor": .string((fixture.clock.now + time).rfc3339),
        ]
    }

    private func schedule(_ fixture: GatewayFixture) async throws -> String {
        let answer = try await fixture.service(.post, Self.base, later(fixture))
        return try #require(answer.data["messageId"]?.stringValue)
    }

    @Test func `what is scheduled can be called back, and calling it back again is harmless (G10)`() async throws {
        let fixture = try GatewayFixture()
        let path = "\(Self.base)/\(try await schedule(fixture))/schedule"
        for _ in 0..<2 {
            let answer = try await fixture.service(.delete, path)
            #expect(answer.status == 204)
            #expect(answer.text.isEmpty)
        }
        #expect(fixture.memory.orders.isEmpty)
        #expect(fixture.memory.state.withLock { $0.calledBack.map(\.reason) } == ["cancelled"])
        let moved = try await fixture.service(.patch, path, ["scheduledFor": "2026-12-03T00:00:00Z"])
        #expect(moved.status == 409)
        #expect(moved.slug == "already-cancelled")
    }

    @Test func `what is scheduled can be moved, and every id it had leads to it (G10)`() async throws {
        let fixture = try GatewayFixture()
        let first = try await schedule(fixture)
        let due = (fixture.clock.now + .seconds(2 * 86_400)).rfc3339
        let answer = try await fixture.service(
            .patch,
            "\(Self.base)/\(first)/schedule",
            ["scheduledFor": .string(due)]
        )
        #expect(answer.status == 200)
        #expect(answer.data["scheduledFor"]?.stringValue == due)
        let order = try #require(fixture.memory.orders.first)
        #expect(answer.data["messageId"]?.stringValue == order.messageID.description)
        #expect(order.messageID.instant == Timestamp(rfc3339: due))
        #expect(try await fixture.service(.delete, "\(Self.base)/\(first)/schedule").status == 204)
        #expect(fixture.memory.orders.isEmpty)
    }

    @Test func `a request that another one's move got ahead of finds the notification under its new id (G10)`()
        async throws
    {
        for method in [HTTPMethod.delete, .patch] {
            let fixture = try GatewayFixture()
            let first = try await schedule(fixture)
            let raced = MessageID(at: fixture.clock.now + .seconds(7200), entropy: [7])
            fixture.memory.state.withLock { $0.movedMeanwhile = raced }
            let due: JSONValue = ["scheduledFor": .string((fixture.clock.now + .seconds(9000)).rfc3339)]
            let path = "\(Self.base)/\(first)/schedule"
            let answer = try await fixture.service(method, path, method == .patch ? due : nil)
            #expect(answer.status == (method == .patch ? 200 : 204))
            let left = fixture.memory.orders.map(\.messageID.description)
            #expect(left == (method == .patch ? [answer.data["messageId"]?.stringValue ?? "none"] : []))
            let calledBack = fixture.memory.state.withLock { $0.calledBack.last?.ids.contains(raced) }
            #expect(calledBack == true)
        }
    }

    @Test(arguments: [
        (WithdrawnNotification.active, false, 409), (.missing, true, 409), (.waitingAgain, true, 409),
        (.missing, false, 204), (.waitingAgain, false, 204),
    ])
    func `what is being delivered is not called back (G10)`(
        withdrawal: WithdrawnNotification,
        begun: Bool,
        status: Int
    ) async throws {
        let fixture = try GatewayFixture()
        let id = try await schedule(fixture)
        fixture.memory.state.withLock { state in
            state.withdrawal = withdrawal
            if begun { state.begun = Set([MessageID(id)].compactMap(\.self)) }
        }
        let answer = try await fixture.service(.delete, "\(Self.base)/\(id)/schedule")
        #expect(answer.status == status)
        if status == 409 { #expect(answer.slug == "already-delivering") }
    }

    @Test func `another credential's, an unknown and an unscheduled notification are not found`() async throws {
        let fixture = try GatewayFixture()
        let id = try await schedule(fixture)
        let now = try await fixture.service(
            .post,
            Self.base,
            ["userId": "u1", "category": "lifecycle", "body": "x"]
        )
        let unscheduled = try #require(now.data["messageId"]?.stringValue)
        for name in [unscheduled, "0198a0f2-0000-7000-8000-000000000000", "x"] {
            let path = "\(Self.base)/\(name)/schedule"
            #expect(try await fixture.service(.delete, path).status == 404)
            let moved = try await fixture.service(.patch, path, ["scheduledFor": "2026-12-03T00:00:00Z"])
            #expect(moved.status == 404)
        }
        let foreign = try await fixture.service(.delete, "\(Self.base)/\(id)/schedule", as: "canceller")
        #expect(foreign.status == 404)
        let weak = try await fixture.service(.delete, "\(Self.base)/\(id)/schedule", as: "writer")
        #expect(weak.status == 403)
    }

    @Test(arguments: [
        (#"{}"#, "/scheduledFor"), (#"{"scheduledFor":null}"#, "/scheduledFor"),
        (#"{"scheduledFor":"tomorrow"}"#, "/scheduledFor"), (#"{"scheduledFor":1796083200000}"#, "/scheduledFor"),
        (#"{"scheduledFor":"2027-12-02T08:00:00Z"}"#, "/scheduledFor"),
    ])
    func `a time must be one, and within 90 days`(body: String, pointer: String) async throws {
        let fixture = try GatewayFixture()
        let id = try await schedule(fixture)
        let answer = try await fixture.service(
            .patch,
            "\(Self.base)/\(id)/schedule",
            try JSONValue(parsing: body)
        )
        #expect(answer.status == 422)
        #expect(answer.json["pointer"]?.stringValue == pointer)
    }

    @Test func `what was moved, and is gone without a trace, can be called back (G10)`() async throws {
        try await LiveGateway.run { live in
            let id = try await schedule(live.fixture)
            let path = "\(Self.base)/\(id)/schedule"
            let due: JSONValue = ["scheduledFor": .string((live.fixture.clock.now + .seconds(7200)).rfc3339)]
            let moved = try await live.fixture.service(.patch, path, due)
            let newID = try #require(moved.data["messageId"]?.stringValue)
            // A request took the job out, and got no further.
            let redis = live.redis.client
            _ = try await redis.send(RedisCommand(["ZREM", .string("\(live.queue.keyPrefix)delayed"), .string(newID)]))
            _ = try await redis.send(RedisCommand(["DEL", .string("\(live.queue.keyPrefix)\(newID)")]))
            #expect(try await live.jobs() == 0)
            #expect(try await live.fixture.service(.delete, path).status == 204)
        }
    }

    @Test func `over real servers the job goes and stays away, and its story tells so (G10, E8)`() async throws {
        try await LiveGateway.run { live in
            let id = try await schedule(live.fixture)
            let moved = try await live.fixture.service(
                .patch,
                "\(Self.base)/\(id)/schedule",
                ["scheduledFor": .string((live.fixture.clock.now + .seconds(7200)).rfc3339)]
            )
            let newID = try #require(moved.data["messageId"]?.stringValue)
            #expect(try await live.field("delay", ofJob: newID) == "7200000")
            #expect(try await live.field("delay", ofJob: id) == nil)
            #expect(try await live.jobs() == 1)
            let told = try await live.fixture.service(.get, "\(Self.base)/explain?messageId=\(id)")
            #expect(told.data["events"]?.arrayValue?.first?["detail"]?["movedTo"]?.stringValue == newID)
            let waiting = try await live.fixture.service(.get, "\(Self.base)/explain?messageId=\(newID)")
            #expect(waiting.data["scheduledFor"] == moved.data["scheduledFor"])

            #expect(try await live.fixture.service(.delete, "\(Self.base)/\(id)/schedule").status == 204)
            #expect(try await live.fixture.service(.delete, "\(Self.base)/\(newID)/schedule").status == 204)
            #expect(try await live.jobs() == 0)
            let cancelled = try await live.lines(
                "SELECT key AS line FROM cancellations WHERE scope = 'message' ORDER BY key"
            )
            #expect(cancelled.sorted() == [id, newID].sorted())
            let events = try await live.lines(
                "SELECT kind || ' ' || reason AS line FROM notification_events ORDER BY id"
            )
            #expect(events == ["cancelled moved", "cancelled cancelled"])
        }
    }
}
