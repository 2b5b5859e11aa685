import GatewayAPI
import HTTPServer
import Kernel
import Notifications
import Observability
import Synchronization
import Testing

@Suite struct EnqueueTests {
    private static let path = "/api/v1/notifications"
    private static let bulk = "/api/v1/notifications/bulk"

    private func notification(_ user: String = "u1", category: String = "reminder", body: String = "Hello") -> JSONValue
    {
        ["userId": .string(user), "category": .string(category), "body": .string(body)]
    }

    @Test func `one notification is enqueued under the id that is answered`() async throws {
        let fixture = try GatewayFixture()
        let answer = try await fixture.service(.post, Self.path, notification())
        #expect(answer.status == 202)
        let order = try #require(fixture.memory.orders.first)
        #expect(answer.data["messageId"]?.stringValue == order.messageID.description)
        #expect(answer.data["jobId"]?.stringValue == order.messageID.description)
        #expect(answer.data["duplicate"]?.boolValue == false)
        #expect(order.job.text == .literal(body: "Hello"))
    }

    @Test func `a time and a priority go with it`() async throws {
        let fixture = try GatewayFixture()
        let body: JSONValue = [
            "userId": "u1", "category": "lifecycle", "body": "x", "scheduledFor": "2026-12-02T08:00:00+01:00",
            "priority": 7,
        ]
        #expect(try await fixture.service(.post, Self.path, body).status == 202)
        #expect(fixture.memory.orders.first?.scheduledFor == Timestamp(rfc3339: "2026-12-02T07:00:00Z"))
        #expect(fixture.memory.orders.first?.priority == 7)
        // The id carries the due time, so that the row lands in that month's partition.
        #expect(fixture.memory.orders.first?.messageID.instant == Timestamp(rfc3339: "2026-12-02T07:00:00Z"))
    }

    @Test(arguments: [
        (#"{"userId":"u1","category":"mirror","body":"x"}"#, "/category", "unknown-category"),
        (#"{"userId":"u 1","category":"reminder","body":"x"}"#, "/userId", "invalid-request"),
        (#"{"userId":7,"category":"reminder","body":"x"}"#, "/userId", "invalid-request"),
        (#"{"userId":"u1","category":"reminder","body":" "}"#, "/body", "invalid-request"),
        (#"{"userId":"u1","category":"reminder"}"#, "/body", "invalid-request"),
        (#"{"userId":"u1","category":"reminder","text":{"key":"no.such"}}"#, "/text", "invalid-request"),
        (
            #"{"userId":"u1","category":"reminder","body":"x","scheduledFor":"2026-12-02T08:00:00"}"#, "/scheduledFor",
            "invalid-request"
        ),
        (
            #"{"userId":"u1","category":"reminder","body":"x","scheduledFor":"2027-12-02T08:00:00Z"}"#, "/scheduledFor",
            "invalid-request"
        ),
        (#"{"userId":"u1","category":"reminder","body":"x","priority":0}"#, "/priority", "invalid-request"),
        (#"{"userId":"u1","category":"reminder","body":"x","priority":2097152}"#, "/priority", "invalid-request"),
        (
            #"{"userId":"u1","category":"reminder","body":"x","deeplinkUrl":"https://x"}"#, "/deeplinkUrl",
            "invalid-request"
        ),
    ])
    func `what cannot be accepted is pointed at`(body: String, pointer: String, slug: String) async throws {
        let fixture = try GatewayFixture()
        let answer = try await fixture.service(.post, Self.path, JSONValue(parsing: body))
        #expect(answer.status == 422)
        #expect(answer.json["pointer"]?.stringValue == pointer)
        #expect(answer.slug == slug)
        #expect(fixture.memory.orders.isEmpty)
    }

    @Test func `an unknown category lists the known ones`() async throws {
        let fixture = try GatewayFixture()
        let answer = try await fixture.service(.post, Self.path, notification(category: "mirror"))
        let detail = try #require(answer.json["detail"]?.stringValue)
        for known in ["reminder", "lifecycle", "campaign"] { #expect(detail.contains(known)) }
    }

    @Test func `words of one's own need a scope, the catalog's do not`() async throws {
        let fixture = try GatewayFixture()
        let literal = try await fixture.service(.post, Self.path, notification(), as: "writer")
        #expect(literal.status == 403)
        let key = try #require(try Catalog.standard(appName: "x").keys.first { $0.hasPrefix("reminder.") })
        let catalog: JSONValue = ["userId": "u1", "category": "reminder", "text": ["key": .string(key)]]
        #expect(try await fixture.service(.post, Self.path, catalog, as: "writer").status == 202)
        let titled: JSONValue = [
            "userId": "u1", "category": "reminder", "text": ["key": .string(key)], "title": "My own",
        ]
        #expect(try await fixture.service(.post, Self.path, titled, as: "writer").status == 403)
    }

    @Test func `a bulk is accepted whole or not at all`() async throws {
        let fixture = try GatewayFixture()
        var entries = (0..<5).map { notification("u\($0)") }
        let accepted = try await fixture.service(.post, Self.bulk, ["notifications": .array(entries)])
        #expect(accepted.status == 202)
        #expect(accepted.data["notifications"]?.arrayValue?.count == 5)
        #expect(fixture.memory.orders.map(\.job.userID.rawValue) == ["u0", "u1", "u2", "u3", "u4"])

        entries[3] = notification("u3", category: "mirror")
        let refused = try await fixture.service(.post, Self.bulk, ["notifications": .array(entries)])
        #expect(refused.status == 422)
        #expect(refused.json["pointer"]?.stringValue == "/notifications/3/category")
        #expect(fixture.memory.orders.count == 5)
    }

    @Test func `a bulk has a size`() async throws {
        let fixture = try GatewayFixture()
        for count in [0, 1001] {
            let entries = JSONValue.array(Array(repeating: notification(), count: count))
            let answer = try await fixture.service(.post, Self.bulk, ["notifications": entries])
            #expect(answer.status == 422)
            #expect(answer.json["pointer"]?.stringValue == "/notifications")
        }
        let full = JSONValue.array(Array(repeating: notification(), count: 1000))
        #expect(try await fixture.service(.post, Self.bulk, ["notifications": full]).status == 202)
    }

    @Test func `a repeat with the same key is answered alike and enqueues nothing`() async throws {
        let fixture = try GatewayFixture()
        let first = try await fixture.service(.post, Self.path, notification(), key: "k-1")
        let second = try await fixture.service(.post, Self.path, notification(), key: "\"k-1\"")
        #expect(second.status == 202)
        #expect(second.text == first.text)
        #expect(first.headers["idempotency-replayed"] == nil)
        #expect(second.headers["idempotency-replayed"] == "true")
        #expect(fixture.memory.orders.count == 1)
        // Another credential's key is another key.
        #expect(try await fixture.service(.post, Self.path, notification(), as: "all", key: "k-2").status == 202)
        #expect(fixture.memory.orders.count == 2)
    }

    @Test func `the order of names and spaces do not make another request`() async throws {
        let fixture = try GatewayFixture()
        _ = try await fixture.service(.post, Self.path, notification(), key: "k")
        let shuffled: JSONValue = ["body": "Hello", "category": "reminder", "userId": "u1"]
        #expect(
            try await fixture.service(.post, Self.path, shuffled, key: "k").headers["idempotency-replayed"] == "true"
        )
    }

    @Test func `a key used for something else is refused`() async throws {
        let fixture = try GatewayFixture()
        _ = try await fixture.service(.post, Self.path, notification(), key: "k")
        let answer = try await fixture.service(.post, Self.path, notification(body: "Other"), key: "k")
        #expect(answer.status == 422)
        #expect(answer.slug == "idempotency-key-reused")
        #expect(fixture.memory.orders.count == 1)
    }

    @Test func `a refusal is replayed too`() async throws {
        let fixture = try GatewayFixture()
        let first = try await fixture.service(.post, Self.path, notification(category: "mirror"), key: "k")
        let second = try await fixture.service(.post, Self.path, notification(category: "mirror"), key: "k")
        #expect(second.status == 422)
        #expect(second.json["pointer"] == first.json["pointer"])
        #expect(second.json["detail"] == first.json["detail"])
        #expect(second.headers["idempotency-replayed"] == "true")
    }

    @Test func `a key that holds no ids never makes an answer of acceptance`() async throws {
        let fixture = try GatewayFixture()
        _ = try await fixture.service(.post, Self.path, notification(), key: "k")
        // As after a refusal whose answer could not be recorded.
        fixture.memory.state.withLock { state in
            for name in state.records.keys {
                state.records[name]?.ids = []
                state.records[name]?.answer = nil
                state.records[name]?.isFree = true
            }
        }
        let repeated = try await fixture.service(.post, Self.path, notification(), key: "k")
        #expect(repeated.status == 409)
        #expect(repeated.slug == "idempotency-key-incomplete")
        #expect(fixture.memory.orders.count == 1)
        #expect(try await fixture.service(.post, Self.path, notification(), key: "k-2").status == 202)
    }

    @Test func `an outage frees the key and a repeat takes the same ids`() async throws {
        let fixture = try GatewayFixture()
        fixture.memory.state.withLock { $0.outage = Unavailable(dependency: "redis", reason: "refused") }
        let failed = try await fixture.service(.post, Self.path, notification(), key: "k")
        #expect(failed.status == 503)
        #expect(failed.headers.contains("retry-after"))
        let reserved = fixture.memory.state.withLock { $0.records.values.first?.ids }
        fixture.memory.state.withLock { $0.outage = nil }
        let repeated = try await fixture.service(.post, Self.path, notification(), key: "k")
        #expect(repeated.status == 202)
        #expect(fixture.memory.orders.map(\.messageID) == reserved)
    }

    @Test func `a request that still runs is a conflict`() async throws {
        let fixture = try GatewayFixture()
        _ = try await fixture.service(.post, Self.path, notification(), key: "k")
        fixture.memory.state.withLock { state in
            for key in state.records.keys { state.records[key]?.answer = nil }
        }
        let answer = try await fixture.service(.post, Self.path, notification(), key: "k")
        #expect(answer.status == 409)
        #expect(answer.headers["retry-after"] == "1")
    }

    @Test(arguments: ["", "with space", String(repeating: "k", count: 256)])
    func `a key that is none is refused`(key: String) async throws {
        let fixture = try GatewayFixture()
        #expect(try await fixture.service(.post, Self.path, notification(), key: key).status == 400)
    }

    @Test func `what is not JSON is told with its place`() async throws {
        let fixture = try GatewayFixture()
        let response = await fixture.client.send(
            .post,
            Self.path,
            headers: [
                "Authorization": "Bearer \(GatewayFixture.serviceToken("all"))", "Content-Type": "application/json",
            ],
            body: Array(#"{"userId":"#.utf8)
        )
        #expect(response.status == 400)
        #expect(String(decoding: response.body, as: UTF8.self).contains("at byte 10"))
    }
}
