import Foundation
import JobQueue
import Kernel
import NotificationBus
import NotificationContract
import Notifications
import PostgresClient
import PushSimulator
import Store
import TestSupport
import Testing

/// Campaigns through real processes (P8).
struct CampaignProcessTests {
    private func start(_ stage: Stage, pace: Int? = nil) async throws -> CampaignID {
        let id = CampaignID(MessageIDGenerator(clock: SystemWallClock()).next().bits)
        let texts = try #require(CampaignTexts([.english: .init(body: "Hello")], fallback: .english))
        let store = CampaignStore(pool: stage.database.pool)
        _ = try await store.create(id, CampaignContent(name: "c", texts: texts, pace: pace), by: "tester")
        _ = try await store.schedule(id, .at(SystemWallClock().now), version: nil, by: "tester")
        return id
    }

    private func state(_ id: CampaignID, _ stage: Stage) async throws -> CampaignState? {
        try await CampaignStore(pool: stage.database.pool).campaign(id)?.state
    }

    @Test func `a campaign whose producer is killed in the middle reaches everybody once (P8)`() async throws {
        try await Stage.run { stage in
            let users = 20_000
            try await stage.addUsers(users, prefix: stage.userPrefix)
            let first = try stage.startProducer()
            let id = try await start(stage)
            try await stage.eventually("some chunks are enqueued") {
                try await stage.count("campaign_chunks WHERE state = 'enqueued'") >= 3
            }
            first.send(SIGKILL)
            _ = await first.ended()
            #expect(try await state(id, stage) == .sending)
            try stage.startProducer()
            try await stage.eventually("everybody is enqueued", within: .seconds(60)) {
                try await state(id, stage) == .sent
            }
            let counts = try await stage.queue.counts()
            #expect(counts.ready + counts.delayed == users)
            try stage.startWorker()
            try await stage.queueAtRest(within: .seconds(120))
            #expect(try await stage.count("notification_messages WHERE status = 'sent'") == users)
            let outcomes = try await CampaignStore(pool: stage.database.pool).outcomes(
                of: try #require(try await CampaignStore(pool: stage.database.pool).campaign(id))
            )
            #expect(outcomes.map(\.kind) == ["sent"] && outcomes.first?.messages == users)
        }
    }

    @Test func `Redis goes away and comes back in the middle of a fan-out: everybody is enqueued once (P8, E10)`()
        async throws
    {
        try await Stage.run { stage in
            let users = 20_000
            try await stage.addUsers(users, prefix: stage.userPrefix)
            let redis = try TCPProxy(to: stage.redisPort)
            defer { redis.close() }
            let producer = try stage.startProducer(["REDIS_URL": "redis://127.0.0.1:\(redis.port)"])
            let id = try await start(stage)
            for round in 1...3 {
                try await stage.eventually("chunks are enqueued") {
                    try await stage.count("campaign_chunks WHERE state = 'enqueued'") >= round * 3
                }
                let told = producer.output.count
                redis.cut()
                // As long as it takes the producer to notice.
                try await stage.eventually("the producer misses Redis") { producer.output.count > told }
                redis.mend()
            }
            try await stage.eventually("everybody is enqueued", within: .seconds(90)) {
                try await state(id, stage) == .sent
            }
            let counts = try await stage.queue.counts()
            #expect(counts.ready + counts.delayed == users)
        }
    }

    @Test func `with foreign words off a campaign is delivered, and a job that somebody else wrote is not (P10)`()
        async throws
    {
        try await Stage.run { stage in
            try await stage.addUsers(2, prefix: stage.userPrefix)
            try stage.startProducer()
            try stage.startWorker(["ACCEPT_LITERAL_JOBS": "0"])
            let id = try await start(stage)
            try await stage.eventually("the campaign is delivered") { stage.simulator.acceptedCount == 2 }
            // The test's own bus holds no key.
            let receipt = try await stage.bus.enqueueNotification(stage.request(stage.user(1), .lifecycle))
            try await stage.eventually("the foreign job is refused") { try await stage.queue.counts().failed == 1 }
            #expect(try await stage.events(of: receipt.messageID) == ["failed"])
            #expect(stage.simulator.acceptedCount == 2)
            let marked = try await stage.count("notification_events WHERE detail ->> 'literal' = 'true'")
            #expect(marked == 0)
            try await stage.eventually("the campaign is over") { try await state(id, stage) == .sent }
        }
    }

    @Test func `a stopped campaign sends nothing more (P8)`() async throws {
        try await Stage.run { stage in
            let users = 20_000
            try await stage.addUsers(users, prefix: stage.userPrefix)
            try stage.startProducer()
            try stage.startWorker()
            let id = try await start(stage)
            try await stage.eventually("some are sent") {
                try await stage.count("notification_messages WHERE status = 'sent'") >= 500
            }
            let store = CampaignStore(pool: stage.database.pool)
            _ = try await store.stop(id, now: SystemWallClock().now, by: "tester")
            let stopped = try #require(
                try await stage.database.pool.query("SELECT now() AS now").first?.timestamp("now")
            )
            try await stage.queueAtRest(within: .seconds(120))
            let late = try await stage.database.pool.query(
                """
                SELECT count(*) AS n FROM notification_events
                WHERE kind = 'sent' AND at > \(stopped)::timestamptz + interval '5 seconds'
                """
            )
            #expect(try late.first?.int("n") == 0)
            #expect(try await stage.count("notification_messages WHERE status = 'sent'") < users)
            #expect(try await stage.count("notification_events WHERE kind = 'cancelled'") > 0)
            #expect(try await state(id, stage) == .stopped)
        }
    }

    @Test func `a test passes the switch and the caps, and is in no inbox (P8)`() async throws {
        try await Stage.run { stage in
            try await stage.addUsers(1, prefix: stage.userPrefix)
            _ = try await stage.database.pool.query("UPDATE user_notification_preferences SET categories = '{}'")
            try stage.startWorker()
            for _ in 0..<2 {
                var request = try stage.request(stage.user(1), .campaign)
                request.job.isTest = true
                _ = try await stage.bus.enqueueNotification(request)
            }
            try await stage.queueAtRest()
            #expect(try await stage.count("notification_messages WHERE status = 'sent' AND is_test") == 2)
            let user = try #require(UserID(stage.user(1)))
            #expect(try await InboxStore(pool: stage.database.pool).unreadCount(of: user) == 0)
            #expect(try await stage.slots(of: stage.user(1), "campaign") == 0)
        }
    }
}
