import JobQueue
import Kernel
import Observability
import PostgresClient
import Store
import TestSupport
import Testing

@testable import Producers

/// Jobs of `app-store-events` as a worker takes them: sound ones, poison, and those the queue lost (P6).
struct LifecycleJobTests {
    /// Runs a worker while the body does.
    private func working(
        _ fixture: LifecycleFixture,
        _ body: () async throws -> Void
    ) async throws {
        let producer = fixture.producer()
        let worker = JobWorker(
            queue: fixture.events,
            redis: fixture.redis.client,
            blockingURL: fixture.redis.url,
            options: .init(name: "lifecycle", concurrency: 4)
        ) { context in try await producer.handle(context) }
        let (stop, end) = AsyncStream<Void>.makeStream()
        let run = Task { try await worker.run { for await _ in stop {} } }
        let result: Result<Void, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        end.finish()
        try await run.value
        try result.get()
    }

    private func eventually(_ condition: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while try await !condition() {
            guard ContinuousClock.now < deadline else { throw TestServerError("waited for a minute") }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    private func states(_ fixture: LifecycleFixture) async throws -> [String] {
        try await fixture.lines(
            "SELECT concat_ws(' ', state, outcome) AS line FROM app_store_notifications ORDER BY notification_uuid"
        )
    }

    @Test(.timeLimit(.minutes(2)))
    func `what the gateway put on the queue is settled, and finished jobs leave no trace`() async throws {
        try await LifecycleFixture.run { fixture in
            try await fixture.register()
            let queue = LifecycleQueue(queue: fixture.events)
            let uuid = try await fixture.keep("EXPIRED", number: 1)
            try await queue.add([.notification(environment: "production", uuid: uuid)])
            try await queue.add([.notification(environment: "production", uuid: uuid)])
            let counts = try await fixture.events.counts()
            #expect(counts.waiting == 1)
            try await working(fixture) {
                try await eventually { try await states(fixture) == ["done announced"] }
                try await eventually { try await fixture.events.counts() == JobCounts() }
            }
            #expect(try await fixture.keys() == ["lifecycle.subscription_expired"])
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `poison hurts nobody else`() async throws {
        try await LifecycleFixture.run { fixture in
            try await fixture.register()
            let bad = [
                "no JSON", "[]", "{}", #"{"environment":"moon"}"#, #"{"environment":"production"}"#,
                #"{"environment":"production","notificationUUID":"x"}"#, #"{"environment":5,"notificationUUID":5}"#,
                #"{"environment":"production","originalTransactionId":5,"userId":"u"}"#,
            ]
            for data in bad { _ = try await fixture.events.add(NewJob(name: "poison", data: data)) }
            // Of a row that is gone, and of a claim that never was.
            let gone = UUIDBits(high: 9, low: 9)
            let queue = LifecycleQueue(queue: fixture.events)
            try await queue.add([
                .notification(environment: "production", uuid: gone),
                .link(environment: "production", originalTransactionID: "1", user: "u:1"),
            ])
            let unreadable = try await fixture.keep("EXPIRED", number: 1)
            let good = try await fixture.keep("EXPIRED", number: 2)
            _ = try await fixture.database.pool.query(
                "UPDATE app_store_notifications SET facts = '{}' WHERE notification_uuid = \(unreadable)"
            )
            try await queue.add([
                .notification(environment: "production", uuid: unreadable),
                .notification(environment: "production", uuid: good),
            ])
            try await working(fixture) {
                try await eventually { try await states(fixture) == ["failed failed", "done announced"] }
                try await eventually {
                    let counts = try await fixture.events.counts()
                    return counts.failed == bad.count && counts.waiting == 0 && counts.active == 0
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `what fails for good is settled as failed instead of coming back for ever`() async throws {
        try await LifecycleFixture.run { fixture in
            try await fixture.register()
            let uuid = try await fixture.keep("EXPIRED", number: 1)
            // The database refuses the row: a fault of the data, which no repeat mends.
            _ = try await fixture.database.pool.query(
                """
                ALTER TABLE subscriptions ADD CONSTRAINT poison CHECK (product_id <> 'pro')
                """
            )
            try await LifecycleQueue(queue: fixture.events).add([.notification(environment: "production", uuid: uuid)])
            try await working(fixture) {
                try await eventually { try await states(fixture) == ["failed failed"] }
            }
            #expect(fixture.telemetry.metrics.render().contains(#"lifecycle_notifications_total{outcome="failed"} 1"#))
        }
    }

    @Test func `rows that wait for over a minute are put on the queue again (P6)`() async throws {
        try await LifecycleFixture.run { fixture in
            let service = LifecycleService(
                queue: LifecycleQueue(queue: fixture.events),
                outbox: fixture.outbox,
                notices: ExpiryNotices(
                    store: fixture.store,
                    producer: fixture.producer(),
                    api: nil,
                    defaultZone: "UTC",
                    clock: fixture.clock,
                    telemetry: .silent()
                ),
                sweepInterval: .seconds(900),
                telemetry: .silent()
            )
            let uuid = try await fixture.keep("EXPIRED", number: 1)
            _ = try await fixture.keep("EXPIRED", number: 2)
            _ = try await fixture.outbox.claim(
                environment: "production",
                originalTransactionID: "7",
                user: "u:1",
                transaction: [:]
            )
            #expect(try await service.resendOverdue() == 0)
            _ = try await fixture.database.pool.query(
                """
                UPDATE app_store_notifications SET queued_at = now() - interval '61 seconds'
                WHERE notification_uuid = \(uuid)
                """
            )
            _ = try await fixture.database.pool.query(
                "UPDATE subscription_links SET queued_at = now() - interval '61 seconds'"
            )
            #expect(try await service.resendOverdue() == 2)
            // Noted, so that they are not put there with every look.
            #expect(try await service.resendOverdue() == 0)
            let ids = try await fixture.events.jobs(.wait).map(\.id)
            #expect(ids.contains("asn-production-\(uuid)"))
            #expect(ids.count == 2)
        }
    }
}
