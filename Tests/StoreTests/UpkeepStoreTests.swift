import Kernel
import Notifications
import PostgresClient
import Store
import TestSupport
import Testing

struct UpkeepStoreTests {
    private let ids = MessageIDGenerator.inOrder

    /// Writes a row that was due, and made, so many seconds ago.
    @discardableResult
    private func add(
        to database: TestDatabase,
        category: String = "reminder",
        status: String = "pending",
        age: Int = 0,
        week: String? = "2026-W49",
        isOpen: Bool = false,
        deliveries: String = "{}"
    ) async throws -> MessageID {
        let id = ids.next()
        _ = try await database.pool.query(
            """
            INSERT INTO notification_messages (id, user_id, category, title, body, deeplink_url, job_id, status, enqueued_at,
                due_at, created_at, week_key, cap_open, deliveries)
            SELECT \(id.bits), 'u', \(category), '', '', '', 'job', \(status), moment, moment, moment, \(week), \(isOpen),
                \(deliveries)::jsonb
            FROM (SELECT now() - make_interval(secs => \(age)) AS moment) AS given
            """
        )
        return id
    }

    private let ages: [String: Duration] = ["reminder": .seconds(7 * 3600), "lifecycle": .seconds(73 * 3600)]

    @Test func `only rows pending past their category's time are lost`() async throws {
        try await withMigratedDatabase { database in
            let lost = try await add(to: database, age: 7 * 3600 + 60)
            try await add(to: database, age: 7 * 3600 - 60)
            try await add(to: database, category: "lifecycle", age: 70 * 3600)
            try await add(to: database, category: "retired", age: 70 * 3600)
            let retired = try await add(to: database, category: "retired", age: 74 * 3600)
            try await add(to: database, status: "sent", age: 80 * 3600)
            try await add(to: database, age: 11 * 86_400)
            let store = UpkeepStore(pool: database.pool)
            let found = try await store.lost(ages: ages, lookBack: .seconds(10 * 86_400), limit: 10)
            #expect(Set(found.map(\.id)) == [lost, retired])
            let bounded = try await store.lost(ages: ages, lookBack: .seconds(10 * 86_400), limit: 1)
            #expect(bounded.map(\.id) == [lost])
        }
    }

    @Test func `a lost row ends once, by what its devices answered, with an event (E8)`() async throws {
        try await withMigratedDatabase { database in
            let unsent = try await add(to: database, age: 8 * 3600, deliveries: #"{"1": {"s": "retry", "n": 1}}"#)
            let uncertain = try await add(to: database, age: 8 * 3600, deliveries: #"{"1": {"s": "unknown", "n": 1}}"#)
            let live = try await add(to: database, status: "sent", age: 8 * 3600)
            let store = UpkeepStore(pool: database.pool)
            let found = try await store.lost(ages: ages, lookBack: .seconds(86_400), limit: 10)
            #expect(found.map(\.keepsSlot) == [false, true])
            let first = try await store.endLost([unsent, uncertain, live])
            let second = try await store.endLost([unsent, uncertain, live])
            #expect(
                Set(first.map { "\($0.category) \($0.status) \($0.count)" }) == [
                    "reminder failed 1", "reminder unknown 1",
                ]
            )
            #expect(second.isEmpty)
            let owed = try await database.pool.query("SELECT message_id, week_key FROM slot_debts")
            #expect(try owed.map { row in try row.uuid("message_id") } == [unsent.bits])
            #expect(try owed.first?.string("week_key") == "2026-W49")
            let rows = try await database.pool.query(
                "SELECT status, reason FROM notification_messages ORDER BY id"
            )
            #expect(try rows.map { row in try row.string("status") } == ["failed", "unknown", "sent"])
            let events = try await database.pool.query(
                "SELECT kind, gate, reason FROM notification_events ORDER BY id"
            )
            #expect(try events.map { row in try row.string("kind") }.sorted() == ["failed", "unknown"])
            #expect(try events.map { row in try row.string("reason") } == ["lost", "lost"])
        }
    }

    @Test func `one process at a time searches for lost rows`() async throws {
        try await withMigratedDatabase { database in
            try await add(to: database, age: 8 * 3600)
            let store = UpkeepStore(pool: database.pool)
            let pool = database.pool
            try await pool.transaction { other in
                _ = try await other.query(UpkeepStore.takeTurn)
                let found = try await store.lost(ages: ages, lookBack: .seconds(86_400), limit: 10)
                #expect(found.isEmpty)
            }
            let found = try await store.lost(ages: ages, lookBack: .seconds(86_400), limit: 10)
            #expect(found.count == 1)
        }
    }

    @Test func `uncounted rows are found until they are marked, with what became of them (R3)`() async throws {
        try await withMigratedDatabase { database in
            let sent = try await add(to: database, status: "sent", isOpen: true)
            let failed = try await add(to: database, status: "failed", isOpen: true)
            try await add(to: database, status: "sent")
            let store = UpkeepStore(pool: database.pool)
            let found = try await store.uncounted(limit: 10)
            #expect(Set(found.map(\.id)) == [sent, failed])
            #expect(found.first { $0.id == failed }?.keepsSlot == false)
            // One is let run again between being found and being marked.
            _ = try await database.pool.query(
                "UPDATE notification_messages SET status = 'pending' WHERE id = \(failed.bits)"
            )
            let marked = try await store.markCounted(found)
            #expect(marked == [sent])
            let changed = try await store.uncounted(limit: 10)
            #expect(changed.map(\.keepsSlot) == [true])
            #expect(try await store.markCounted(changed) == [failed])
            let after = try await store.uncounted(limit: 10)
            #expect(after.isEmpty)
        }
    }

    @Test func `a row holds its slot while it has not ended without reaching anybody (R2)`() async throws {
        try await withMigratedDatabase { database in
            let store = UpkeepStore(pool: database.pool)
            let pending = try await add(to: database)
            let failing = try await add(to: database)
            let deferred = try await add(to: database)
            let found = [pending, failing, deferred].map {
                UpkeepStore.Message(id: $0, userID: "u", category: "reminder", weekKey: "2026-W49", keepsSlot: true)
            }
            _ = try await database.pool.query(
                "UPDATE notification_messages SET status = 'failed' WHERE id = \(failing.bits)"
            )
            _ = try await database.pool.query(
                "UPDATE notification_messages SET week_key = NULL WHERE id = \(deferred.bits)"
            )
            let holding = try await store.stillHolding(found)
            #expect(holding == [pending])
        }
    }

    @Test func `the holders of slots come in pages, of the weeks that run now (R2)`() async throws {
        try await withMigratedDatabase { database in
            let rows = try await database.pool.query(
                """
                SELECT to_char(now() AT TIME ZONE 'UTC' + interval '14 hours', 'IYYY-"W"IW') AS week
                """
            )
            let week = try #require(try rows.first?.string("week"))
            var holders: [MessageID] = []
            for status in ["pending", "sent", "unknown"] {
                holders.append(try await add(to: database, status: status, week: week))
            }
            try await add(to: database, status: "failed", week: week)
            try await add(to: database, status: "sent", week: nil)
            try await add(to: database, status: "sent", week: "2020-W53")
            try await add(to: database, status: "sent", age: 20 * 86_400, week: week)
            let store = UpkeepStore(pool: database.pool)
            let first = try await store.holders(after: nil, limit: 2)
            let second = try await store.holders(after: first.last?.id, limit: 2)
            #expect((first + second).map(\.id) == holders.sorted())
            #expect(first.first?.weekKey == week)
        }
    }
}
