import GatewayAPI
import HTTPServer
import JobQueue
import Kernel
import Observability
import PostgresClient
import Producers
import RedisClient
import Signing
import TestSupport
import Testing

/// The App Store's webhook and the link of subscriptions to users, over a real database and a real queue (P6).
struct AppStoreRoutesTests {
    private static let uuid = "002e14d5-51f5-4503-b5a8-c3a1af68eb20"

    @Test func `a verified notification is kept and put on the queue before Apple is answered (P6)`() async throws {
        try await AppStoreGateway.run { store in
            let answer = try await store.post(try store.notification())
            #expect(answer.status == 200)
            #expect(answer.data["duplicate"] == false)
            let rows = try await store.lines(
                """
                SELECT concat_ws(' ', environment, notification_uuid, notification_type, original_transaction_id, state,
                    facts -> 'transaction' ->> 'productId') AS line FROM app_store_notifications
                """
            )
            #expect(rows == ["production \(Self.uuid) DID_FAIL_TO_RENEW 1000 received pro"])
            let job = try #require(try await store.queue.job("asn-production-\(Self.uuid)"))
            let data = try JSONValue(parsing: job.data)
            #expect(data["notificationUUID"]?.stringValue == Self.uuid)
            #expect(data["environment"] == "production")
        }
    }

    @Test func `the same notification again, in whatever spelling, is answered 200 and kept once (P6)`() async throws {
        try await AppStoreGateway.run { store in
            for uuid in [Self.uuid, Self.uuid, Self.uuid.uppercased()] {
                #expect(try await store.post(try store.notification(uuid: uuid)).status == 200)
            }
            #expect(try await store.post(try store.notification()).data["duplicate"] == true)
            #expect(try await store.lines("SELECT count(*)::text AS line FROM app_store_notifications") == ["1"])
            // The sandbox is another store: the same id there is another notification.
            let sandbox = try store.notification(environment: "Sandbox")
            #expect(try await store.post(sandbox, to: "sandbox").data["duplicate"] == false)
            let counts = try await store.queue.counts()
            #expect(counts.waiting == 2)
        }
    }

    @Test func `what Apple adds one day is kept and answered 200`() async throws {
        try await AppStoreGateway.run { store in
            let payload = try store.notification(["notificationType": "SOMETHING_NEW", "subtype": "NEWER_STILL"])
            #expect(try await store.post(payload).status == 200)
            #expect(
                try await store.lines("SELECT notification_type || subtype AS line FROM app_store_notifications")
                    == ["SOMETHING_NEWNEWER_STILL"]
            )
        }
    }

    @Test func `what is not Apple's, or not for this app and store, is refused, counted by reason and not kept`()
        async throws
    {
        try await AppStoreGateway.run { store in
            let other = try ChainMaker(now: store.now)
            let good = try store.notification()
            let parts = good.split(separator: ".").map(String.init)
            let cases: [(String, String, String)] = [
                ("chain", try other.sign(["signedDate": .integer(store.now.milliseconds)]), "production"),
                (
                    "signature", "\(parts[0]).\(parts[1]).\(Base64URL.encode([UInt8](repeating: 1, count: 64)))",
                    "production"
                ),
                ("malformed", "hello", "production"), ("identifier", try store.transaction(), "production"),
                ("environment", good, "sandbox"),
                ("notification_uuid", try store.notification(uuid: "no"), "production"),
                ("nested", try store.notification(["data": nestedGarbage]), "production"),
            ]
            for (reason, payload, environment) in cases {
                let answer = try await store.post(payload, to: environment)
                #expect(answer.status == 403, "\(reason)")
                #expect(answer.slug == "notification-refused", "\(reason)")
                #expect(store.refusals(reason, environment), "\(reason)")
            }
            #expect(try await store.lines("SELECT count(*)::text AS line FROM app_store_notifications") == ["0"])
            let log = store.fixture.sink.lines.joined()
            #expect(!log.contains(parts[2]), "a token stands in the log")
        }
    }

    private var nestedGarbage: JSONValue {
        [
            "bundleId": .string(AppStoreGateway.bundleID), "appAppleId": .integer(AppStoreGateway.appID),
            "environment": "Production", "signedTransactionInfo": "a.b.c",
        ]
    }

    @Test func `bodies of another form are told what is wrong`() async throws {
        try await AppStoreGateway.run { store in
            let path = "/api/v1/webhooks/app-store/production"
            #expect(try await store.fixture.send(.post, path, ["signedPayload": 5]).status == 400)
            #expect(try await store.fixture.send(.post, path, []).status == 400)
            let text = try await store.fixture.send(.post, path, [:], headers: ["Content-Type": "text/plain"])
            #expect(text.status == 415)
            #expect(try await store.fixture.send(.get, path).status == 405)
            let large: JSONValue = ["signedPayload": .string(String(repeating: "x", count: 300_000))]
            #expect(try await store.fixture.send(.post, path, large).status == 413)
        }
    }

    @Test func `without PostgreSQL Apple is asked to come again`() async throws {
        try await AppStoreGateway.run { store in
            await store.database.pool.close()
            let answer = try await store.post(try store.notification())
            #expect(answer.status == 503)
            #expect(answer.headers["retry-after"] != nil)
        }
    }

    @Test func `without Redis a notification is kept all the same and answered 200`() async throws {
        let away = RedisClient(
            url: try RedisURL(parsing: "redis://127.0.0.1:1"),
            options: .init(label: "away"),
            telemetry: .silent()
        )
        try await AppStoreGateway.run(queueRedis: away) { store in
            let answer = try await store.post(try store.notification())
            #expect(answer.status == 200)
            #expect(try await store.lines("SELECT state AS line FROM app_store_notifications") == ["received"])
        }
        await away.close()
    }

    @Test func `when nobody can be asked about revocation Apple is asked to come again`() async throws {
        struct Away: RevocationChecking {
            func check(_ chain: VerifiedChain) async throws { throw RevocationOutage(description: "away") }
        }
        try await AppStoreGateway.run(revocation: Away()) { store in
            let answer = try await store.post(try store.notification())
            #expect(answer.status == 503)
            #expect(try await store.lines("SELECT count(*)::text AS line FROM app_store_notifications") == ["0"])
        }
    }

    // MARK: Links

    private static let link = "/api/v1/subscriptions/link"

    @Test func `a user claims a subscription that is nobody's, and what is another's is not found`() async throws {
        try await AppStoreGateway.run { store in
            let body: JSONValue = ["signedTransaction": .string(try store.transaction())]
            let first = try await store.fixture.user(.post, Self.link, body)
            #expect(first.status == 202)
            #expect(first.data["status"] == "accepted")
            #expect(
                try await store.lines("SELECT user_id || ' ' || state AS line FROM subscription_links") == [
                    "u1 received"
                ]
            )
            let counts = try await store.queue.counts()
            #expect(counts.waiting == 1)
            _ = try await store.database.pool.query(
                """
                INSERT INTO subscriptions (environment, original_transaction_id, user_id) VALUES ('production', '1000', 'u1')
                """
            )
            let again = try await store.fixture.user(.post, Self.link, body)
            #expect(again.status == 200)
            #expect(again.data["status"] == "linked")
            #expect(try await store.fixture.user(.post, Self.link, body, as: "u2").status == 404)
        }
    }

    @Test func `a transaction bought with another user's account token is not found, and one's own is`() async throws {
        try await AppStoreGateway.run { store in
            let token = "7e3fb204-2ad5-4f5b-9d3c-1f9c3b9a9a01"
            let signed = try store.transaction(["appAccountToken": .string(token)])
            let body: JSONValue = ["signedTransaction": .string(signed)]
            #expect(try await store.fixture.user(.post, Self.link, body, as: "u1").status == 404)
            #expect(try await store.fixture.user(.post, Self.link, body, as: token.uppercased()).status == 202)
        }
    }

    @Test func `what is no subscription of this app cannot be linked`() async throws {
        try await AppStoreGateway.run { store in
            let bad = [
                try store.transaction(["bundleId": "other"]), try store.transaction(["type": "Consumable"]),
                try store.transaction(["environment": "Xcode"]), "garbage",
            ]
            for token in bad {
                let answer = try await store.fixture.user(.post, Self.link, ["signedTransaction": .string(token)])
                #expect(answer.status == 422)
                #expect(answer.slug == "transaction-refused")
            }
            #expect(try await store.fixture.send(.post, Self.link, [:]).status == 401)
        }
    }

    // MARK: Lifecycle events

    private static let events = "/api/v1/lifecycle-events"

    @Test func `one line over HTTP tells a user about an event, once for a period (P7)`() async throws {
        try await AppStoreGateway.run { store in
            let body: JSONValue = [
                "userId": "u1", "event": "subscription_expiring", "periodEnd": "2026-12-04T10:00:00Z",
                "originalTransactionId": "1000",
            ]
            let first = try await store.fixture.service(.post, Self.events, body)
            #expect(first.status == 202)
            let again = try await store.fixture.service(.post, Self.events, body)
            #expect(again.data["messageId"] == first.data["messageId"])
            #expect(again.data["duplicate"] == true)
            let id = try #require(first.data["messageId"]?.stringValue)
            let key = "\(store.redis.prefix):deliver:\(id)"
            let text = try await store.redis.client.send(RedisCommand(["HGET", .string(key), "data"])).string
            let job = try JSONValue(parsing: try #require(text))
            #expect(job["category"] == "lifecycle")
            #expect(job["sourceEntityId"] == "sub:1000")
            #expect(job["text"]?["key"] == "lifecycle.subscription_expiring")
            #expect(job["text"]?["variables"]?["tierName"] == "subscription")
            #expect(job["text"]?["variables"]?["expiryDate"] == "December 4, 2026")
        }
    }

    @Test func `a notice about a period has one id on whatever day it is asked for (P7)`() async throws {
        try await AppStoreGateway.run { store in
            let clock = store.fixture.clock
            let start = clock.now
            for event in ["subscription_expiring", "renewal_failed"] {
                let end = start + .seconds(25 * 86_400)
                let body: JSONValue = ["userId": "u1", "event": .string(event), "periodEnd": .string(end.rfc3339)]
                var ids: Set<String> = []
                for day in [0, 1, 5, 6, 25, 40] {
                    clock.advance(by: start + .seconds(day * 86_400) - clock.now)
                    let answer = try await store.fixture.service(.post, Self.events, body)
                    #expect(answer.status == 202, "\(event) on day \(day)")
                    if let id = answer.data["messageId"]?.stringValue { ids.insert(id) }
                }
                #expect(ids.count == 1, "\(event)")
                clock.advance(by: start - .seconds(6 * 86_400) - clock.now)
                let early = try await store.fixture.service(.post, Self.events, body)
                #expect(early.status == 422 && early.json["pointer"] == "/periodEnd")
                clock.advance(by: start - clock.now)
            }
        }
    }

    @Test func `events without a period are told apart by their idempotency key (P7)`() async throws {
        try await AppStoreGateway.run { store in
            let body: JSONValue = ["userId": "u1", "event": "subscription_expired"]
            let first = try await store.fixture.service(.post, Self.events, body, key: "k1")
            let replayed = try await store.fixture.service(.post, Self.events, body, key: "k1")
            let other = try await store.fixture.service(.post, Self.events, body, key: "k2")
            #expect(first.status == 202)
            #expect(replayed.data["messageId"] == first.data["messageId"])
            #expect(replayed.headers["idempotency-replayed"] == "true")
            #expect(other.data["messageId"] != first.data["messageId"])
        }
    }

    @Test func `an event that is none, or lacks its parts, is refused with the place (P7)`() async throws {
        try await AppStoreGateway.run { store in
            let cases: [(JSONValue, String)] = [
                (["event": "renewal_failed"], "/userId"), (["userId": "a b", "event": "renewal_failed"], "/userId"),
                (["userId": "u1"], "/event"), (["userId": "u1", "event": "birthday"], "/event"),
                (["userId": "u1", "event": "subscription_expiring"], "/periodEnd"),
                (
                    ["userId": "u1", "event": "renewal_failed", "originalTransactionId": "a b"],
                    "/originalTransactionId"
                ),
            ]
            for (body, pointer) in cases {
                let answer = try await store.fixture.service(.post, Self.events, body)
                #expect(answer.status == 422)
                #expect(answer.json["pointer"]?.stringValue == pointer)
            }
            let reader = try await store.fixture.service(.post, Self.events, ["userId": "u1"], as: "reader")
            #expect(reader.status == 403)
        }
    }
}
