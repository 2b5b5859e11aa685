import Kernel
import Notifications
import PostgresClient
import Store
import TestSupport
import Testing

struct StoryStoreTests {
    private let ids = MessageIDGenerator.inOrder

    private func event(
        _ kind: DeliveryEvent.Kind,
        _ id: MessageID,
        user: String = "u",
        at: Timestamp,
        reason: String? = nil
    ) -> DeliveryEvent {
        DeliveryEvent(
            kind: kind,
            messageID: id,
            userID: user,
            category: "campaign",
            jobID: id.description,
            attemptsStarted: 1,
            attempt: 0,
            at: at,
            gate: "caps",
            reason: reason,
            device: "1:abcdef01…",
            detail: ["sendMilliseconds": 12]
        )
    }

    @Test func `a suppressed message has a story without a row (E8)`() async throws {
        try await withMigratedDatabase { database in
            let store = StoryStore(pool: database.pool)
            let id = ids.next()
            let now = SystemWallClock().now
            let events = [
                event(.enqueued, id, at: now - .seconds(2)), event(.suppressed, id, at: now, reason: "cap_category"),
            ]
            try await store.append(events.reversed())
            let story = try #require(try await store.story(of: id))
            #expect(story.row == nil)
            #expect(story.userID == "u")
            #expect(story.category == "campaign")
            #expect(story.events == events)
            #expect(try await store.story(of: ids.next()) == nil)
        }
    }

    @Test func `a user's stories come newest first and hold rows and events`() async throws {
        try await withMigratedDatabase { database in
            let store = StoryStore(pool: database.pool)
            let now = SystemWallClock().now
            let (old, sent, suppressed) = (ids.next(), ids.next(), ids.next())
            _ = try await database.pool.query(
                """
                INSERT INTO notification_messages (id, user_id, category, title, body, deeplink_url, job_id, status,
                    enqueued_at, due_at, created_at, deliveries, week_key)
                VALUES (\(old.bits), 'u', 'campaign', '', '', '', '1', 'sent', now(), now(), \(now - .seconds(90)), '{}', NULL),
                    (\(sent.bits), 'u', 'campaign', '', '', '', '2', 'sent', now(), now(), \(now - .seconds(60)),
                        '{"7": {"s": "accepted", "n": 1}}', '2026-W53')
                """
            )
            try await store.append([
                event(.sent, sent, at: now - .seconds(50)), event(.suppressed, suppressed, at: now - .seconds(10)),
                // Another user's job took the same id once.
                event(.failed, sent, user: "other", at: now - .seconds(5), reason: "id_collision"),
            ])
            let user = try #require(UserID("u"))
            let stories = try await store.stories(of: user, limit: 10)
            #expect(stories.map(\.messageID) == [suppressed, sent, old])
            #expect(stories[1].events.map(\.kind) == [.sent])
            #expect(stories[1].row?.weekKey == "2026-W53")
            #expect(stories[1].row?.deliveries["7"]?["s"] == "accepted")
            #expect(stories[2].events.isEmpty)
            let limited = try await store.stories(of: user, limit: 1)
            #expect(limited.map(\.messageID) == [suppressed])
            let whole = try #require(try await store.story(of: sent))
            #expect(whole.events.map(\.userID) == ["u", "other"])
        }
    }
}
