import JobQueue
import Kernel
import NotificationBus
import Notifications
import Observability
import PostgresClient
import RedisClient
import Signing
import Store
import TestSupport
import Testing

@testable import Producers

struct CampaignFanOutTests {
    @Test func `a campaign reaches everybody once, whoever dies in between and however often it is handed over (P8)`()
        async throws
    {
        try await CampaignFixture.run { fixture in
            try await fixture.addUsers(35)
            try await fixture.addUsers(5, prefix: "d", language: "de-AT")
            let id = try await fixture.start()
            _ = await fixture.conductor.turn()
            #expect(try await fixture.state(id) == .sending)
            let first = try #require(try await fixture.handed().first)
            // Everything was enqueued, and the producer died before it could say so.
            let recipients = try await fixture.store.recipients(of: first)
            #expect(recipients.count == 10)
            _ = try await fixture.fanOut().perform(first)
            _ = try await fixture.database.pool.query(
                """
                UPDATE campaign_chunks SET state = 'pending', handed_at = NULL,
                    user_ids = \(recipients.map(\.user.rawValue))
                WHERE chunk = \(first.chunk)
                """
            )
            _ = await fixture.conductor.turn()
            #expect(try await fixture.work(fixture.fanOut()) == 40)
            #expect(try await fixture.work(fixture.fanOut()) == 0)
            _ = await fixture.conductor.turn()
            #expect(try await fixture.state(id) == .sent)
            let expected = (1...35).map { "u\($0)" } + (1...5).map { "d\($0)" }
            #expect(try await fixture.recipients() == expected.sorted())
            // Names leave the chunks.
            let rows = try await fixture.database.pool.query(
                "SELECT sum(cardinality(user_ids)) AS n FROM campaign_chunks"
            )
            #expect(try rows.first?.int("n") == 0)
            let progress = try #require(try await fixture.campaigns.progress(id))
            #expect(progress.users == 40 && progress.enqueued == 40 && progress.chunks == 4)
        }
    }

    @Test func `each job has its words, its reference, the campaign's instant and no more (P8, B1)`() async throws {
        try await CampaignFixture.run { fixture in
            try await fixture.addUsers(1, language: "de-AT")
            let id = try await fixture.start()
            _ = await fixture.conductor.turn()
            try await fixture.work(fixture.fanOut())
            let campaign = try #require(try await fixture.campaigns.campaign(id))
            let user = try #require(UserID("u1"))
            let request = CampaignMessages(identity: .init(prefix: "p", queue: "q") { SHA256.hash($0) })
                .request(
                    campaign,
                    for: user,
                    language: "de-AT",
                    startedAt: try #require(campaign.startedAt),
                    due: SystemWallClock().now
                )
            let messageID = try #require(request.messageID)
            #expect(messageID.instant == campaign.startedAt)
            let job = try #require(try await fixture.delivery.job(messageID.description))
            let data = try JSONValue(parsing: try #require(job.fields["data"]))
            #expect(data["body"] == "Hallo" && data["title"] == "T" && data["languageCode"] == "de")
            #expect(data["batchRef"] == .string("cmp:\(id)") && data["sourceEntityId"] == .string("cmp:\(id)"))
            #expect(data["test"] == nil && data["category"] == "campaign")
            #expect(job.fields["priority"] == "20")
        }
    }

    @Test func `two producers at once hand over each user once (P8)`() async throws {
        try await CampaignFixture.run { fixture in
            try await fixture.addUsers(200)
            let id = try await fixture.start()
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 { group.addTask { _ = await fixture.conductor.turn() } }
            }
            let handed = try await fixture.handed()
            #expect(handed.count == 20)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<2 {
                    group.addTask { for reference in handed { _ = try await fixture.fanOut().perform(reference) } }
                }
                try await group.waitForAll()
            }
            #expect(try await fixture.recipients() == (1...200).map { "u\($0)" }.sorted())
            _ = await fixture.conductor.turn()
            #expect(try await fixture.state(id) == .sent)
            let rows = try await fixture.database.pool.query(
                "SELECT count(*) AS n FROM campaign_audit WHERE action = 'begin'"
            )
            #expect(try rows.first?.int("n") == 1)
        }
    }

    @Test func `a stopped campaign hands over nothing more, and what is queued is called back (P8)`() async throws {
        try await CampaignFixture.run { fixture in
            try await fixture.addUsers(30)
            let id = try await fixture.start()
            _ = await fixture.conductor.turn()
            let handed = try await fixture.handed()
            #expect(try await fixture.fanOut().perform(handed[0]) == 10)
            _ = try await fixture.campaigns.stop(id, now: SystemWallClock().now, by: "tester")
            #expect(try await fixture.fanOut().perform(handed[1]) == 0)
            try await fixture.forgetHandOuts()
            _ = await fixture.conductor.turn()
            #expect(try await fixture.recipients().count == 10)
            #expect(try await fixture.state(id) == .stopped)
            // Gate 0 holds for what a producer enqueues after the stop, too.
            let query = RecipientStore.Query(
                messageID: MessageIDGenerator(clock: SystemWallClock()).next(),
                userID: try #require(UserID("u1")),
                category: "campaign",
                sourceEntityID: id.source,
                enqueuedAt: SystemWallClock().now + .seconds(60),
                openingMinute: nil
            )
            let found = try await RecipientStore(pool: fixture.database.pool).recipients(for: [query])
            #expect(found.1.first?.cancellationReason == "campaign_stopped")
            let progress = try #require(try await fixture.campaigns.progress(id))
            #expect(progress.enqueued == 10 && progress.stopped == 20)
        }
    }

    @Test func `chunks wait while the queue is full, and while Redis is away (P8)`() async throws {
        try await CampaignFixture.run { fixture in
            try await fixture.addUsers(30)
            _ = try await fixture.start()
            _ = await fixture.conductor.turn()
            let handed = try await fixture.handed()
            _ = try await fixture.fanOut().perform(handed[0])
            await #expect(throws: DelayedJob.self) { try await fixture.fanOut(highWater: 9).perform(handed[1]) }
            #expect(try await fixture.fanOut(highWater: 10).perform(handed[1]) == 10)
            let away = RedisClient(
                url: try RedisURL(parsing: "redis://127.0.0.1:1"),
                options: .init(label: "away"),
                telemetry: .silent()
            )
            let lost = JobQueue(redis: away, name: fixture.delivery.name, telemetry: .silent())
            await #expect(throws: JobQueueError.self) { try await fixture.fanOut(delivery: lost).perform(handed[2]) }
            await away.close()
            #expect(try await fixture.fanOut().perform(handed[2]) == 10)
            #expect(try await fixture.recipients().count == 30)
        }
    }

    @Test func `a pace spreads chunks, and holds for a backlog (P8)`() async throws {
        try await CampaignFixture.run { fixture in
            try await fixture.addUsers(30)
            // Ten a chunk, sixty a minute: one chunk in ten seconds.
            let id = try await fixture.start(pace: 60)
            _ = await fixture.conductor.turn()
            let rows = try await fixture.database.pool.query(
                """
                SELECT extract(epoch FROM c.due_at - p.started_at)::bigint AS after FROM campaign_chunks c, campaigns p
                ORDER BY chunk
                """
            )
            #expect(try rows.map { row in try row.int("after") } == [0, 10, 20])
            #expect(try await fixture.handed().count == 1)
            #expect(try await fixture.fanOut().perform(.init(campaign: id, chunk: 0)) == 10)
            await #expect(throws: DelayedJob.self) {
                try await fixture.fanOut().perform(.init(campaign: id, chunk: 1))
            }
        }
    }

    @Test func `with a pace a chunk of one zone waits for its morning, and leaves its place to others (P8)`()
        async throws
    {
        try await CampaignFixture.run { fixture in
            // Wherever it is noon or midnight now; Tokyo is nine hours ahead of Greenwich, all year.
            let hour = try await fixture.hour(in: "Asia/Tokyo")
            try await fixture.addUsers(15, prefix: "tokyo", zone: "Asia/Tokyo")
            try await fixture.addUsers(5, prefix: "utc", zone: "UTC")
            let id = try await fixture.start(pace: 60_000)
            _ = await fixture.conductor.turn()
            let chunks = try await fixture.lines(
                "SELECT users || ' ' || zone AS line FROM campaign_chunks ORDER BY line"
            )
            #expect(chunks == ["10 Asia/Tokyo", "5 Asia/Tokyo", "5 UTC"], "of one zone each")
            // Closed there from now on, for eight hours.
            let opens = (hour + 8) % 24
            let closed = DeliveryWindow(openingHour: opens, closingHour: min(opens + 1, 24), outside: .drop)
            _ = await fixture.conductor.turn()
            for chunk in 0..<3 {
                let count = try await fixture.fanOut(window: closed).perform(.init(campaign: id, chunk: chunk))
                #expect(count == 0)
            }
            let put = try await fixture.lines(
                """
                SELECT to_char(due_at AT TIME ZONE zone, 'HH24:MI') || ' ' || (due_at > now()) || ' ' || (handed_at IS NULL) AS line
                FROM campaign_chunks WHERE zone = 'Asia/Tokyo'
                """
            )
            let morning = (opens < 10 ? "0" : "") + "\(opens):00 true true"
            #expect(put == [morning, morning])
        }
    }

    @Test func `of a backlog with a pace only the next chunks are asked for (P8)`() async throws {
        try await CampaignFixture.run { fixture in
            try await fixture.addUsers(200)
            // Ten a chunk and 600 a minute: two of them in two seconds.
            let id = try await fixture.start(pace: 600)
            _ = await fixture.conductor.turn()
            _ = try await fixture.database.pool.query("UPDATE campaign_chunks SET due_at = now() - interval '1 hour'")
            for _ in 0..<3 { _ = await fixture.conductor.turn() }
            #expect(try await fixture.handed().map(\.chunk) == [0, 1])
            #expect(try await fixture.fanOut().perform(.init(campaign: id, chunk: 0)) == 10)
            _ = await fixture.conductor.turn()
            #expect(try await fixture.handed().map(\.chunk) == [0, 1, 2])
        }
    }

    @Test func `nothing new is asked for while the delivery queue is full (P8)`() async throws {
        try await CampaignFixture.run { fixture in
            try await fixture.addUsers(30)
            _ = try await fixture.start()
            _ = await fixture.conductor(highWater: 9).turn()
            _ = await fixture.conductor(highWater: 9).turn()
            let handed = try await fixture.handed()
            #expect(handed.count == 3)
            #expect(try await fixture.fanOut().perform(handed[0]) == 10)
            _ = try await fixture.database.pool.query(
                "UPDATE campaign_chunks SET handed_at = NULL WHERE state = 'pending'"
            )
            _ = await fixture.conductor(highWater: 9).turn()
            #expect(try await fixture.handed() == [handed[0]])
            _ = await fixture.conductor(highWater: 10).turn()
            #expect(try await fixture.handed().count == 3)
        }
    }

    @Test func `users of unknown zone wait for their afternoon, however late their chunk comes up (P8)`() async throws {
        try await CampaignFixture.run { fixture in
            try await fixture.addUsers(3, prefix: "none", zone: nil)
            try await fixture.addUsers(2, prefix: "known")
            let id = try await fixture.start()
            _ = await fixture.conductor.turn()
            #expect(
                try await fixture.lines("SELECT users || ' ' || is_afternoon AS line FROM campaign_chunks ORDER BY 1")
                    == ["2 false", "3 true"]
            )
            // Held back by a full queue until the evening, or the night, of the zone that they count by.
            let hour = try await fixture.hour(in: "Europe/Oslo")
            let elsewhere = hour < 12 ? "Pacific/Kiritimati" : "Pacific/Pago_Pago"
            _ = try await fixture.database.pool.query(
                "UPDATE campaign_chunks SET due_at = now() - interval '1 hour', zone = \(elsewhere) WHERE is_afternoon"
            )
            let late = try await fixture.hour(in: elsewhere)
            let chunk = try await fixture.lines("SELECT chunk::text AS line FROM campaign_chunks WHERE is_afternoon")
            let number = try #require(chunk.first.flatMap { Int($0) })
            let count = try await fixture.fanOut().perform(.init(campaign: id, chunk: number))
            #expect(count == ((12..<17).contains(late) ? 3 : 0))
            let due = try await fixture.lines(
                "SELECT to_char(due_at AT TIME ZONE zone, 'HH24:MI') AS line FROM campaign_chunks WHERE is_afternoon AND state = 'pending'"
            )
            #expect((12..<17).contains(late) || due == ["12:00"])
        }
    }

    @Test func `a campaign that cannot begin holds up no other (P8)`() async throws {
        try await CampaignFixture.run { fixture in
            try await fixture.addUsers(10)
            let broken = try await fixture.start()
            _ = try await fixture.database.pool.query(
                "UPDATE campaigns SET texts = '{}', starts_at = now() - interval '1 hour' WHERE id = \(broken.bits)"
            )
            let good = try await fixture.start()
            _ = await fixture.conductor.turn()
            #expect(try await fixture.state(good) == .sending)
            #expect(try await fixture.handed().count == 1)
            let states = try await fixture.lines("SELECT state AS line FROM campaigns ORDER BY starts_at")
            #expect(states == ["scheduled", "sending"])
        }
    }

    @Test func `the next campaign for a user is the oldest that was not handed over for them (G8)`() async throws {
        try await CampaignFixture.run { fixture in
            try await fixture.addUsers(1, language: "de-AT")
            try await fixture.addUsers(1, prefix: "other", zone: "Asia/Tokyo")
            let voice = CampaignVoice(store: fixture.campaigns)
            let user = try #require(UserID("u1"))
            #expect(try await voice.words(for: user) == .silent(reason: "no_campaign"))
            let sending = try await fixture.start()
            _ = await fixture.conductor.turn()
            let later = CampaignTiming.at(SystemWallClock().now + .seconds(3600))
            let scheduled = try await fixture.start(audience: .init(zones: ["Asia/Tokyo"]), timing: later)
            #expect(try await fixture.campaigns.next(for: user)?.id == sending)
            #expect(
                try await voice.words(for: user) == .saysAsWritten(title: "T", body: "Hallo", deeplinkURL: nil)
            )
            try await fixture.work(fixture.fanOut())
            #expect(try await voice.words(for: user) == .silent(reason: "no_campaign"), "the other is for Tokyo")
            let other = try #require(UserID("other1"))
            #expect(try await fixture.campaigns.next(for: other)?.id == scheduled)
        }
    }

    @Test func `each zone has its local time, and an unknown zone its afternoon (P8)`() async throws {
        try await CampaignFixture.run { fixture in
            try await fixture.addUsers(1, prefix: "tokyo", zone: "Asia/Tokyo")
            try await fixture.addUsers(1, prefix: "york", zone: "America/New_York")
            try await fixture.addUsers(1, prefix: "none", zone: nil)
            let day = SystemWallClock().now + .seconds(3 * 86_400)
            let date = day.rfc3339.prefix(10)
            let local = try #require(CampaignTiming.LocalTime("\(date)T09:30"))
            let id = try await fixture.start(timing: .local(local))
            // Its time has not come.
            _ = await fixture.conductor.turn()
            #expect(try await fixture.state(id) == .scheduled)
            _ = try await fixture.database.pool.query("UPDATE campaigns SET starts_at = now()")
            _ = await fixture.conductor.turn()
            #expect(try await fixture.state(id) == .sending)
            let rows = try await fixture.database.pool.query(
                """
                SELECT user_ids[1] || ' ' || to_char(due_at AT TIME ZONE CASE
                    WHEN user_ids[1] LIKE 'tokyo%' THEN 'Asia/Tokyo' WHEN user_ids[1] LIKE 'york%' THEN 'America/New_York'
                    ELSE 'Europe/Oslo' END, 'YYYY-MM-DD HH24:MI') AS line
                FROM campaign_chunks ORDER BY due_at
                """
            )
            #expect(
                try rows.map { row in try row.string("line") }
                    == ["tokyo1 \(date) 09:30", "none1 \(date) 12:00", "york1 \(date) 09:30"]
            )
            #expect(try await fixture.handed().isEmpty)
        }
    }

    @Test func `an audience is chosen by language, zone, platform, activity and list (P8)`() async throws {
        try await CampaignFixture.run { fixture in
            try await fixture.addUsers(2, prefix: "n", zone: "Europe/Oslo", language: "nn-NO")
            try await fixture.addUsers(3, prefix: "e", zone: "UTC")
            _ = try await fixture.database.pool.query("UPDATE devices SET platform = 'android' WHERE user_id = 'e1'")
            _ = try await fixture.database.pool.query(
                """
                INSERT INTO user_activity (user_id, last_activity_at)
                VALUES ('n1', now() - interval '1 day'), ('e1', now() - interval '9 days')
                """
            )
            let id = try await fixture.start(timing: .at(SystemWallClock().now + .seconds(3600)))
            _ = try await fixture.campaigns.unschedule(id, by: "tester")
            let listed = ["e2", "stranger"].compactMap { UserID($0) }
            _ = try await fixture.campaigns.addToList(id, listed, replacing: true, limit: 10, by: "tester")
            func users(_ audience: CampaignAudience, fallback: ServerLocale = .english) async throws -> Int {
                var campaign = try #require(try await fixture.campaigns.campaign(id))
                campaign.content.audience = audience
                campaign.content.texts = try #require(
                    CampaignTexts(campaign.content.texts.byLocale, fallback: fallback)
                )
                return try await fixture.campaigns.counts(campaign, isOnByDefault: false).reduce(0) { $0 + $1.users }
            }
            #expect(try await users(.init()) == 5)
            #expect(try await users(.init(languages: [.norwegian])) == 2)
            #expect(try await users(.init(languages: [.english])) == 3)
            // Whoever has no language, or one without texts, reads the fallback's words and counts there.
            #expect(try await users(.init(languages: [.german])) == 0)
            #expect(try await users(.init(languages: [.german]), fallback: .german) == 3)
            #expect(try await users(.init(languages: [.english]), fallback: .german) == 0)
            #expect(try await users(.init(zones: ["Europe/Oslo"])) == 2)
            #expect(try await users(.init(platforms: ["android"])) == 1)
            #expect(try await users(.init(activeWithinDays: 3)) == 1)
            #expect(try await users(.init(inactiveForDays: 3)) == 1)
            #expect(try await users(.init(usesList: true)) == 2)
            #expect(try await users(.init(platforms: ["ios"], usesList: true)) == 1)
            await #expect(throws: CampaignStore.ListTooLong.self) {
                try await fixture.campaigns.addToList(id, listed, replacing: false, limit: 1, by: "tester")
            }
        }
    }
}
