import Kernel
import Notifications
import PostgresClient
import TestSupport
import Testing

@testable import Store

struct DeliveryStoreTests {
    private let ids = MessageIDGenerator.inOrder

    private func row(_ id: MessageID, user: String = "u", body: String = "Hi", week: String? = "2026-W49") throws
        -> MessageStore.Row
    {
        MessageStore.Row(
            id: id,
            userID: try #require(UserID(user)),
            category: "reminder",
            title: "T",
            body: body,
            deeplinkURL: "im://home",
            metadata: ["k": "v"],
            sourceEntityID: nil,
            batchReference: nil,
            language: nil,
            jobID: id.description,
            weekKey: week,
            isCapOpen: false,
            enqueuedAt: SystemWallClock().now,
            dueAt: SystemWallClock().now
        )
    }

    private func event(_ id: MessageID, _ kind: DeliveryEvent.Kind, user: String = "u") -> DeliveryEvent {
        DeliveryEvent(
            kind: kind,
            messageID: id,
            userID: user,
            category: "reminder",
            jobID: id.description,
            attemptsStarted: 1,
            attempt: 1,
            at: SystemWallClock().now,
            detail: ["a": 1]
        )
    }

    private func record(
        _ id: MessageID,
        status: MessageStatus? = .sent,
        deliveries: [Int64: DeviceDelivery] = [:],
        accepted: Timestamp? = nil,
        clearsWeek: Bool = false,
        events: [DeliveryEvent] = [],
        user: String = "u"
    ) -> OutcomeStore.Record {
        OutcomeStore.Record(
            messageID: id,
            userID: user,
            category: "reminder",
            status: status,
            reason: nil,
            deliveries: deliveries,
            acceptedAt: accepted,
            clearsWeek: clearsWeek,
            events: events
        )
    }

    private func stored(_ id: MessageID, _ database: TestDatabase) async throws -> StoredMessage? {
        let query = RecipientStore.Query(
            messageID: id,
            userID: try #require(UserID("u")),
            category: "reminder",
            sourceEntityID: nil,
            enqueuedAt: SystemWallClock().now,
            openingMinute: nil
        )
        return try await RecipientStore(pool: database.pool).recipients(for: [query]).1.first?.stored
    }

    @Test func `a row is written once, whoever comes again (E10)`() async throws {
        try await withMigratedDatabase { database in
            let store = MessageStore(pool: database.pool)
            let id = ids.next()
            let other = ids.next()
            let first = try await store.write([row(id)], reopening: [])
            let second = try await store.write([row(other), row(id, body: "changed")], reopening: [])
            #expect(first == [.written])
            #expect(second == [.written, .existed])
            let message = try await stored(id, database)
            #expect(message?.status == .pending)
            #expect(message?.weekKey == "2026-W49")
        }
    }

    @Test func `one row that the database refuses does not spoil 255 others`() async throws {
        try await withMigratedDatabase { database in
            let store = MessageStore(pool: database.pool)
            var rows = try (0..<255).map { _ in try row(ids.next()) }
            rows.insert(try row(ids.next(), body: "a\0b"), at: 100)
            let results = try await store.write(rows, reopening: [])
            #expect(results.count(where: { $0 == .written }) == 255)
            #expect(results[100] != .written && results[100] != .existed)
        }
    }

    @Test func `a row outside every partition is an outage, not a refusal`() async throws {
        try await withMigratedDatabase { database in
            let store = MessageStore(pool: database.pool)
            let old = MessageID(at: Timestamp(milliseconds: 1_000_000_000_000), entropy: [])
            let error = await #expect(throws: PostgresError.self) {
                _ = try await store.write([row(old)], reopening: [])
            }
            #expect(error?.isMissingPartition == true)
        }
    }

    @Test func `a failed row is opened again with its new week, and with what its devices said for good (E10)`()
        async throws
    {
        try await withMigratedDatabase { database in
            let store = MessageStore(pool: database.pool)
            let id = ids.next()
            let kept: [Int64: DeviceDelivery] = [
                1: DeviceDelivery(state: .accepted, attempts: 1),
                2: DeviceDelivery(state: .unknown, attempts: 5, reason: "Timeout"),
                3: DeviceDelivery(
                    state: .dead,
                    attempts: 1,
                    reason: "Unregistered",
                    goneBefore: Timestamp(milliseconds: 1_796_117_400_123)
                ),
            ]
            let forgotten: [Int64: DeviceDelivery] = [
                4: DeviceDelivery(state: .dead, attempts: 1, reason: "BadTopic"),
                5: DeviceDelivery(state: .retry, attempts: 5),
            ]
            _ = try await store.write([row(id)], reopening: [])
            _ = try await OutcomeStore(pool: database.pool).record([
                record(id, status: .failed, deliveries: kept.merging(forgotten) { first, _ in first })
            ])
            let results = try await store.write([row(id, week: "2026-W50")], reopening: [id])
            #expect(results == [.written])
            let message = try await stored(id, database)
            #expect(message?.status == .pending)
            #expect(message?.weekKey == "2026-W50")
            #expect(message?.deliveries == kept, "the others begin anew")
        }
    }

    @Test func `a record given again after a lost reply writes no event twice (E8)`() async throws {
        try await withMigratedDatabase { database in
            let (known, new) = (ids.next(), ids.next())
            _ = try await MessageStore(pool: database.pool).write([row(known), row(new)], reopening: [])
            let store = OutcomeStore(pool: database.pool)
            let first = record(
                known,
                accepted: SystemWallClock().now,
                events: [event(known, .enqueued), event(known, .sent)]
            )
            let second = record(new, accepted: SystemWallClock().now, events: [event(new, .sent)])
            _ = try await store.record([first])
            _ = try await store.record([first, second], isRepeat: true)
            _ = try await store.record([first, second], isRepeat: true)
            let rows = try await database.pool.query(
                "SELECT message_id, kind FROM notification_events ORDER BY id"
            )
            #expect(try rows.map { row in try row.string("kind") } == ["enqueued", "sent", "sent"])
            #expect(try await stored(new, database)?.status == .sent)
        }
    }

    @Test func `a deferral clears the mark of an uncounted message with its week`() async throws {
        try await withMigratedDatabase { database in
            let id = ids.next()
            _ = try await MessageStore(pool: database.pool).write([row(id)], reopening: [])
            _ = try await database.pool.query("UPDATE notification_messages SET cap_open = true")
            _ = try await OutcomeStore(pool: database.pool).record([record(id, status: nil, clearsWeek: true)])
            let message = try await stored(id, database)
            #expect(message?.weekKey == nil && message?.isCapOpen == false)
        }
    }

    @Test func `a row that is sent stays sent, whatever a slower run says`() async throws {
        try await withMigratedDatabase { database in
            let id = ids.next()
            _ = try await MessageStore(pool: database.pool).write([row(id)], reopening: [])
            let store = OutcomeStore(pool: database.pool)
            _ = try await store.record([record(id, deliveries: [1: DeviceDelivery(state: .accepted, attempts: 1)])])
            _ = try await store.record([
                record(id, status: .failed, deliveries: [2: DeviceDelivery(state: .dead, attempts: 1)])
            ])
            let message = try await stored(id, database)
            #expect(message?.status == .sent)
            #expect(message?.deliveries.mapValues(\.state) == [1: .accepted, 2: .dead])
        }
    }

    @Test func `two records of one message, and of one user in two categories, are all kept`() async throws {
        try await withMigratedDatabase { database in
            _ = try await database.pool.query("INSERT INTO user_notification_preferences (user_id) VALUES ('u')")
            let (id, other) = (ids.next(), ids.next())
            _ = try await MessageStore(pool: database.pool).write([row(id)], reopening: [])
            let now = try #require(Timestamp(rfc3339: "2026-12-01T10:00:00Z"))
            let campaign = OutcomeStore.Record(
                messageID: other,
                userID: "u",
                category: "campaign",
                status: nil,
                reason: nil,
                deliveries: [:],
                acceptedAt: now,
                clearsWeek: false,
                events: [event(other, .sent)]
            )
            _ = try await OutcomeStore(pool: database.pool).record([
                record(
                    id,
                    status: .pending,
                    deliveries: [1: DeviceDelivery(state: .retry, attempts: 1)],
                    accepted: now
                ),
                record(id, deliveries: [1: DeviceDelivery(state: .accepted, attempts: 2)]), campaign,
            ])
            let message = try await stored(id, database)
            #expect(message?.status == .sent)
            #expect(message?.deliveries == [1: DeviceDelivery(state: .accepted, attempts: 2)])
            let user = try #require(UserID("u"))
            let categories = try await PreferenceStore(pool: database.pool).preferences(of: user).categories
            #expect(categories.mapValues(\.lastSentAt) == ["reminder": now, "campaign": now])
        }
    }

    @Test func `message rows are changed in place, no index is touched`() async throws {
        try await withMigratedDatabase { database in
            let new = (0..<256).map { _ in ids.next() }
            let rows = try new.enumerated().map { try row($0.element, user: "u\($0.offset)") }
            _ = try await MessageStore(pool: database.pool).write(rows, reopening: [])
            let records = new.enumerated().map { index, id in
                record(
                    id,
                    deliveries: [1: DeviceDelivery(state: .accepted, attempts: 1)],
                    accepted: SystemWallClock().now,
                    user: "u\(index)"
                )
            }
            let changes = try await database.pool.transaction { transaction in
                _ = try await transaction.query(OutcomeStore.statement(records[...]))
                return try await transaction.query(
                    """
                    SELECT sum(n_tup_upd)::bigint AS all, sum(n_tup_hot_upd)::bigint AS hot FROM pg_stat_xact_user_tables
                    WHERE relname LIKE 'notification_messages%'
                    """
                )
            }
            #expect(try changes.first?.int("all") == 256)
            // A new version is longer than the old one, so a few at the end of a page may have to move.
            #expect(try changes.first?.int("hot") ?? 0 > 240)
        }
    }

    @Test func `a record changes the row, the user's lastSentAt and the events at once (E7, E8)`() async throws {
        try await withMigratedDatabase { database in
            _ = try await database.pool.query(
                """
                INSERT INTO user_notification_preferences (user_id, categories)
                VALUES ('u', '{"reminder": {"enabled": false, "x": 1}, "campaign": {"enabled": true}}')
                """
            )
            let id = ids.next()
            _ = try await MessageStore(pool: database.pool).write([row(id)], reopening: [])
            let moment = try #require(Timestamp(rfc3339: "2026-12-01T10:00:00Z"))
            let refused = try await OutcomeStore(pool: database.pool).record([
                record(
                    id,
                    deliveries: [7: DeviceDelivery(state: .accepted, attempts: 1)],
                    accepted: moment,
                    events: [event(id, .enqueued), event(id, .sent)]
                ),
                record(ids.next(), status: nil, accepted: moment + .seconds(60)),
            ])
            #expect(refused.isEmpty)
            let message = try await stored(id, database)
            #expect(message?.status == .sent)
            #expect(message?.deliveries == [7: DeviceDelivery(state: .accepted, attempts: 1)])
            let preferences = try await database.pool.query("SELECT categories FROM user_notification_preferences")
            let categories = try #require(try preferences.first?.json("categories"))
            #expect(categories["reminder"]?["lastSentAt"] == "2026-12-01T10:01:00Z", "the newest of the group")
            #expect(categories["reminder"]?["enabled"] == false)
            #expect(categories["reminder"]?["x"] == 1)
            #expect(categories["campaign"] == ["enabled": true])
            let events = try await database.pool.query("SELECT kind, detail FROM notification_events ORDER BY id")
            let kinds = try events.map { row in try row.string("kind") }
            #expect(kinds == ["enqueued", "sent"])
        }
    }

    @Test func `an acceptance is never overwritten, other answers are (E10)`() async throws {
        try await withMigratedDatabase { database in
            let id = ids.next()
            _ = try await MessageStore(pool: database.pool).write([row(id)], reopening: [])
            let outcomes = OutcomeStore(pool: database.pool)
            let accepted = DeviceDelivery(state: .accepted, attempts: 1)
            let retry = DeviceDelivery(state: .retry, attempts: 1, reason: "InternalServerError")
            let dead = DeviceDelivery(state: .dead, attempts: 2, reason: "Unregistered")
            _ = try await outcomes.record([record(id, deliveries: [1: accepted, 2: retry])])
            _ = try await outcomes.record([record(id, status: nil, deliveries: [1: retry, 2: dead, 3: accepted])])
            let message = try await stored(id, database)
            #expect(message?.deliveries == [1: accepted, 2: dead, 3: accepted])
            #expect(message?.status == .sent)
        }
    }

    @Test func `clearing the week leaves the rest of the row alone`() async throws {
        try await withMigratedDatabase { database in
            let id = ids.next()
            _ = try await MessageStore(pool: database.pool).write([row(id)], reopening: [])
            _ = try await OutcomeStore(pool: database.pool).record([record(id, status: nil, clearsWeek: true)])
            let message = try await stored(id, database)
            #expect(message?.weekKey == nil)
            #expect(message?.status == .pending)
        }
    }

    @Test func `a record that the database refuses is reported alone, the others are kept`() async throws {
        try await withMigratedDatabase { database in
            let good = ids.next()
            let bad = ids.next()
            var poison = event(bad, .failed)
            poison.reason = "a\0b"
            let refused = try await OutcomeStore(pool: database.pool).record([
                record(good, status: nil, events: [event(good, .sent)]), record(bad, status: nil, events: [poison]),
            ])
            #expect(Array(refused.keys) == [bad])
            let count = try await database.pool.query("SELECT count(*) AS n FROM notification_events").first?.int("n")
            #expect(count == 1)
        }
    }

    @Test func `lastSentAt updates stay HOT and two workers cannot lock each other out`() async throws {
        try await withMigratedDatabase { database in
            _ = try await database.pool.query(
                """
                INSERT INTO user_notification_preferences (user_id)
                SELECT 'u' || n FROM generate_series(1, 64) AS n
                """
            )
            let outcomes = OutcomeStore(pool: database.pool)
            let moment = SystemWallClock().now
            let forward = (1...64).map { record(ids.next(), status: nil, accepted: moment, user: "u\($0)") }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for batch in [forward, forward.reversed(), forward, forward.reversed()] {
                    group.addTask { _ = try await outcomes.record(batch) }
                }
                try await group.waitForAll()
            }
            let rows = try await database.pool.query(
                "SELECT count(*) AS n FROM user_notification_preferences WHERE categories -> 'reminder' ? 'lastSentAt'"
            )
            let updated = try rows.first?.int("n")
            #expect(updated == 64)
        }
    }
}
