import JobQueue
import Kernel
import NotificationBus
import Notifications
import Observability
import PostgresClient
import RedisClient
import Store
import TestSupport
import Testing

@testable import Producers

/// From the outbox to the delivery queue, over real servers (P6).
struct LifecycleProducerTests {
    @Test func `a failed renewal becomes a notice to the owner (P6)`() async throws {
        try await LifecycleFixture.run { fixture in
            try await fixture.register()
            let uuid = try await fixture.keep("DID_FAIL_TO_RENEW", "GRACE_PERIOD", number: 1)
            let outcome = try await fixture.producer().process(uuid, .production)
            #expect(outcome == .announced)
            let job = try #require(try await fixture.jobs().first)
            #expect(job["userId"] == "7E3FB204-2AD5-4F5B-9D3C-1F9C3B9A9A01")
            #expect(job["category"] == "lifecycle")
            #expect(job["text"]?["key"] == "lifecycle.renewal_failed")
            #expect(job["sourceEntityId"] == "sub:1000")
            #expect(job["metadata"]?["event"] == "renewal_failed")
            let rows = try await fixture.lines(
                """
                SELECT concat_ws(' ', state, outcome, event, message_id IS NOT NULL) AS line FROM app_store_notifications
                """
            )
            #expect(rows == ["done announced renewal_failed t"])
            let subscriptions = try await fixture.lines(
                "SELECT concat_ws(' ', user_id, status, auto_renews, product_id) AS line FROM subscriptions"
            )
            #expect(subscriptions == ["7E3FB204-2AD5-4F5B-9D3C-1F9C3B9A9A01 4 t pro"])
        }
    }

    @Test func `a job that comes twice, even at once, says it once (P6, E10)`() async throws {
        try await LifecycleFixture.run { fixture in
            try await fixture.register()
            let uuid = try await fixture.keep("EXPIRED", "VOLUNTARY", number: 1)
            let outcomes = try await withThrowingTaskGroup(of: LifecycleRules.Outcome?.self) { group in
                for _ in 0..<8 { group.addTask { try await fixture.producer().process(uuid, .production) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.count { $0 == .announced } == 1)
            #expect(outcomes.count { $0 == nil } == 7)
            #expect(try await fixture.keys() == ["lifecycle.subscription_expired"])
        }
    }

    @Test func `notifications of one subscription at once are settled one after another`() async throws {
        try await LifecycleFixture.run { fixture in
            try await fixture.register()
            var ids: [UUIDBits] = []
            for number in 1...8 { ids.append(try await fixture.keep("DID_FAIL_TO_RENEW", number: number)) }
            let all = ids
            let outcomes = try await withThrowingTaskGroup(of: LifecycleRules.Outcome?.self) { group in
                for id in all { group.addTask { try await fixture.producer().process(id, .production) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.count { $0 == .announced } == 1)
            #expect(outcomes.count { $0 == .alreadySaid } == 7)
            #expect(try await fixture.keys().count == 1)
        }
    }

    @Test func `a recovered payment calls back what was not sent (P6, gate 0)`() async throws {
        try await LifecycleFixture.run { fixture in
            try await fixture.register()
            let producer = fixture.producer()
            let failed = try await fixture.keep("DID_FAIL_TO_RENEW", number: 1)
            _ = try await producer.process(failed, .production)
            fixture.clock.advance(by: .seconds(5))
            let renewed = try await fixture.keep("DID_RENEW", "BILLING_RECOVERY", number: 2)
            #expect(try await producer.process(renewed, .production) == .recovered)
            // The gate's own question about the pending job.
            let id = try #require(try await fixture.deliver.jobs(.wait).first.flatMap { MessageID($0.id) })
            let query = RecipientStore.Query(
                messageID: id,
                userID: try #require(UserID("7E3FB204-2AD5-4F5B-9D3C-1F9C3B9A9A01")),
                category: "lifecycle",
                sourceEntityID: "sub:1000",
                enqueuedAt: LifecycleFixture.start,
                openingMinute: nil
            )
            let recipients = try await RecipientStore(pool: fixture.database.pool).recipients(for: [query]).1
            #expect(recipients.first?.cancellationReason == "renewed")
        }
    }

    @Test func `a failure that arrives after the recovery says nothing (P6)`() async throws {
        try await LifecycleFixture.run { fixture in
            try await fixture.register()
            let producer = fixture.producer()
            let renewed = try await fixture.keep("DID_RENEW", "BILLING_RECOVERY", number: 1)
            _ = try await producer.process(renewed, .production)
            let failed = try await fixture.keep("DID_FAIL_TO_RENEW", number: 2, at: fixture.clock.now - .seconds(60))
            #expect(try await producer.process(failed, .production) == .outdated)
            #expect(try await fixture.jobs().isEmpty)
            #expect(try await fixture.lines("SELECT status::text AS line FROM subscriptions") == ["1"])
        }
    }

    @Test func `what follows takes the place of what was not sent`() async throws {
        try await LifecycleFixture.run { fixture in
            try await fixture.register()
            let producer = fixture.producer()
            _ = try await producer.process(try await fixture.keep("DID_FAIL_TO_RENEW", number: 1), .production)
            fixture.clock.advance(by: .seconds(60))
            let end = LifecycleFixture.start + .seconds(3600)
            let expired = try await fixture.keep("EXPIRED", "VOLUNTARY", number: 2) { $0.transaction?.expiresAt = end }
            #expect(try await producer.process(expired, .production) == .announced)
            let called = try await fixture.lines(
                "SELECT concat_ws(' ', scope, key, reason, extract(epoch FROM before)::bigint) AS line FROM cancellations"
            )
            // Before the second notice, so that it alone remains.
            #expect(called == ["source sub:1000 superseded \(fixture.clock.now.seconds)"])
            #expect(try await fixture.keys() == ["lifecycle.renewal_failed", "lifecycle.subscription_expired"])
        }
    }

    @Test func `an old subscription's end is not told while another of its group goes on`() async throws {
        try await LifecycleFixture.run { fixture in
            try await fixture.register()
            let producer = fixture.producer()
            let other = try await fixture.keep("SUBSCRIBED", number: 1, id: "2000")
            _ = try await producer.process(other, .production)
            let expired = try await fixture.keep("EXPIRED", number: 2, id: "1000")
            #expect(try await producer.process(expired, .production) == .otherActive)
            #expect(try await fixture.jobs().isEmpty)
        }
    }

    @Test func `sandbox and production never share a row`() async throws {
        try await LifecycleFixture.run { fixture in
            try await fixture.register()
            let producer = fixture.producer()
            let sandbox = try await fixture.keep("EXPIRED", number: 1, environment: .sandbox)
            #expect(try await producer.process(sandbox, .production) == nil)
            #expect(try await producer.process(sandbox, .sandbox) == .sandbox)
            let production = try await fixture.keep("DID_RENEW", number: 1)
            #expect(try await producer.process(production, .production) == .recovered)
            let rows = try await fixture.lines(
                "SELECT concat_ws(' ', environment, status) AS line FROM subscriptions ORDER BY environment"
            )
            #expect(rows == ["production 1", "sandbox 2"])
            #expect(try await fixture.jobs().isEmpty)
        }
    }

    @Test func `unknown types are recorded and counted`() async throws {
        try await LifecycleFixture.run { fixture in
            let uuid = try await fixture.keep("SOMETHING_NEW", number: 1)
            #expect(try await fixture.producer().process(uuid, .production) == .recorded)
            #expect(fixture.telemetry.metrics.render().contains("lifecycle_unknown_types_total 1"))
            #expect(try await fixture.lines("SELECT count(*)::text AS line FROM subscriptions") == ["0"])
        }
    }

    @Test func `without PostgreSQL's commit nothing is settled, and the repeat has the same message id (E10)`()
        async throws
    {
        try await LifecycleFixture.run { fixture in
            try await fixture.register()
            let uuid = try await fixture.keep("EXPIRED", number: 1)
            struct Killed: Error {}
            // The process dies after the notice is on the queue and before the commit: simulated by a rolled back session.
            let first = try await fixture.deliver.counts().waiting
            #expect(first == 0)
            await #expect(throws: Killed.self) {
                try await fixture.store.session { session in
                    var record = try await session.subscription(environment: "production", id: "1000")
                    record.user = "7E3FB204-2AD5-4F5B-9D3C-1F9C3B9A9A01"
                    record.expiresAt = fixture.clock.now + .seconds(3600)
                    _ = try await fixture.producer().announce(
                        .subscriptionExpired,
                        &record,
                        happenedAt: fixture.clock.now,
                        session
                    )
                    throw Killed()
                }
            }
            fixture.clock.advance(by: .seconds(90))
            #expect(try await fixture.producer().process(uuid, .production) == .announced)
            #expect(try await fixture.keys() == ["lifecycle.subscription_expired"])
        }
    }

    @Test func `without Redis nothing is settled (E10)`() async throws {
        let away = RedisClient(
            url: try RedisURL(parsing: "redis://127.0.0.1:1"),
            options: .init(label: "away"),
            telemetry: .silent()
        )
        try await LifecycleFixture.run { fixture in
            try await fixture.register()
            let uuid = try await fixture.keep("EXPIRED", number: 1)
            let queue = JobQueue(
                redis: away,
                name: try QueueName(prefix: fixture.redis.prefix, name: "deliver"),
                telemetry: .silent()
            )
            await #expect(throws: JobQueueError.self) {
                try await fixture.producer(queue: queue).process(uuid, .production)
            }
            #expect(try await fixture.lines("SELECT state AS line FROM app_store_notifications") == ["received"])
            #expect(try await fixture.lines("SELECT count(*)::text AS line FROM subscriptions") == ["0"])
        }
        await away.close()
    }

    // MARK: Owners

    @Test func `an event without an owner is held, and said when the user links the subscription (P6)`() async throws {
        try await LifecycleFixture.run { fixture in
            let producer = fixture.producer()
            let anonymous = { (made: inout AppStoreNotification) -> Void in made.transaction?.appAccountToken = nil }
            let first = try await fixture.keep("DID_FAIL_TO_RENEW", number: 1, change: anonymous)
            #expect(try await producer.process(first, .production) == .unlinked)
            fixture.clock.advance(by: .seconds(60))
            let second = try await fixture.keep("EXPIRED", number: 2, change: anonymous)
            #expect(try await producer.process(second, .production) == .unlinked)
            #expect(try await fixture.jobs().isEmpty)

            var transaction = AppStoreTransaction(originalTransactionID: "1000", signedAt: LifecycleFixture.start)
            transaction.isAutoRenewable = true
            func claim(_ user: String) async throws -> String {
                _ = try await fixture.outbox.claim(
                    environment: "production",
                    originalTransactionID: "1000",
                    user: user,
                    transaction: transaction.claims
                )
                return try await producer.link(user, to: "1000", .production)
            }
            #expect(try await claim("u1") == "linked")
            // The newest alone is still true.
            #expect(try await fixture.keys() == ["lifecycle.subscription_expired"])
            #expect(try await fixture.jobs().first?["userId"] == "u1")
            let states = try await fixture.lines(
                "SELECT concat_ws(' ', state, outcome) AS line FROM app_store_notifications ORDER BY signed_at"
            )
            #expect(states == ["done outdated", "done announced"])
            // A second run of the same job does nothing; another user comes too late.
            #expect(try await producer.link("u1", to: "1000", .production) == "gone")
            let late = try await fixture.outbox.claim(
                environment: "production",
                originalTransactionID: "1000",
                user: "u2",
                transaction: transaction.claims
            )
            #expect(late == .foreign)
        }
    }

    @Test func `of two users who claim at once the first is granted`() async throws {
        try await LifecycleFixture.run { fixture in
            let transaction = AppStoreTransaction(originalTransactionID: "1000", signedAt: LifecycleFixture.start)
            for user in ["u1", "u2"] {
                let claim = try await fixture.outbox.claim(
                    environment: "production",
                    originalTransactionID: "1000",
                    user: user,
                    transaction: transaction.claims
                )
                #expect(claim == .accepted)
            }
            async let first = fixture.producer().link("u1", to: "1000", .production)
            async let second = fixture.producer().link("u2", to: "1000", .production)
            let outcomes = try await [first, second].sorted()
            #expect(outcomes == ["linked", "refused"])
        }
    }

    @Test func `a claim against the account token is refused, also when the token was seen in a notification alone`()
        async throws
    {
        try await LifecycleFixture.run { fixture in
            let producer = fixture.producer()
            // Its user is not registered yet.
            _ = try await producer.process(try await fixture.keep("DID_RENEW", number: 1), .production)
            let bare = AppStoreTransaction(originalTransactionID: "1000", signedAt: .init(milliseconds: 1))
            _ = try await fixture.outbox.claim(
                environment: "production",
                originalTransactionID: "1000",
                user: "u1",
                transaction: bare.claims
            )
            #expect(try await producer.link("u1", to: "1000", .production) == "refused")
            #expect(try await fixture.lines("SELECT state AS line FROM subscription_links") == ["refused"])
            // Once the user is known, the next event finds the owner by itself.
            try await fixture.register()
            let expired = try await fixture.keep("EXPIRED", number: 2, at: fixture.clock.now)
            #expect(try await producer.process(expired, .production) == .announced)
        }
    }

    @Test func `the hook is one line for whoever handles an event (P7)`() async throws {
        try await LifecycleFixture.run { fixture in
            let notifier = LifecycleNotifier(
                notices: fixture.notices,
                bus: fixture.bus,
                store: fixture.store,
                clock: fixture.clock
            )
            let user = try #require(UserID("u1"))
            for event in LifecycleEvent.allCases {
                let end = LifecycleNotices.Subject(
                    productID: "pro",
                    periodEnd: LifecycleFixture.start + .seconds(86_400)
                )
                let first = try await notifier.notifyLifecycleEvent(user, event, about: end)
                let again = try await notifier.notifyLifecycleEvent(user, event, about: end)
                #expect(!first.isDuplicate && again.isDuplicate)
            }
            let keys = try await fixture.keys()
            #expect(keys == LifecycleEvent.allCases.map(\.textKey))
        }
    }
}
