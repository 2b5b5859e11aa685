import Kernel
import Notifications
import PostgresClient
import Synchronization
import TestSupport
import Testing

@testable import Store

/// Slots that could not be freed are kept until they are, and no longer than their message is without them.
struct SlotDebtStoreTests {
    private typealias Debt = SlotDebtStore.Debt

    private struct CapsAway: Error {}

    private let ids = MessageIDGenerator.inOrder

    private func debt(_ user: String = "u", week: String = "2026-W49") -> Debt {
        Debt(messageID: ids.next(), userID: user, category: "reminder", weekKey: week)
    }

    private func settled(_ store: SlotDebtStore, limit: Int = 100) async throws -> [Debt] {
        let freed = Mutex<[Debt]>([])
        let count = try await store.settle(limit: limit) { debts in freed.withLock { $0 += debts } }
        let debts = freed.withLock { $0 }
        #expect(count == debts.count)
        return debts
    }

    @Test func `a debt is settled once, however often it was noted (R2)`() async throws {
        try await withMigratedDatabase { database in
            let store = SlotDebtStore(pool: database.pool)
            let (first, second) = (debt("a"), debt("b"))
            try await store.owe([first, second])
            try await store.owe([second])
            let once = try await settled(store)
            let twice = try await settled(store)
            #expect(Set(once.map(\.userID)) == ["a", "b"])
            #expect(twice.isEmpty)
        }
    }

    @Test func `while the caps are away every debt stays (R3)`() async throws {
        try await withMigratedDatabase { database in
            let store = SlotDebtStore(pool: database.pool)
            try await store.owe([debt(), debt()])
            await #expect(throws: CapsAway.self) { try await store.settle(limit: 1) { _ in throw CapsAway() } }
            let bounded = try await settled(store, limit: 1)
            let rest = try await settled(store)
            #expect(bounded.count == 1 && rest.count == 1)
        }
    }

    @Test func `the slot of a message that holds it is not freed, and its debt is gone (R2)`() async throws {
        try await withMigratedDatabase { database in
            let store = SlotDebtStore(pool: database.pool)
            let states = ["pending", "sent", "unknown", "failed", "suppressed"]
            let debts = states.map { _ in debt() }
            for (state, debt) in zip(states, debts) {
                _ = try await database.pool.query(
                    """
                    INSERT INTO notification_messages (id, user_id, category, title, body, deeplink_url, job_id, status,
                        enqueued_at, due_at, week_key)
                    VALUES (\(debt.messageID.bits), 'u', 'reminder', '', '', '', 'job', \(state), now(), now(), '2026-W49')
                    """
                )
            }
            // Of another week, in which the message holds none.
            let stray = Debt(messageID: debts[1].messageID, userID: "u", category: "reminder", weekKey: "2026-W48")
            try await store.owe(debts + [stray])
            let freed = Mutex<[Debt]>([])
            let count = try await store.settle(limit: 100) { debts in freed.withLock { $0 += debts } }
            #expect(count == 6)
            let names = freed.withLock { Set($0.map { "\($0.messageID) \($0.weekKey)" }) }
            #expect(names == Set([debts[3], debts[4], stray].map { "\($0.messageID) \($0.weekKey)" }))
            let left = try await settled(store)
            #expect(left.isEmpty)
        }
    }

    @Test func `a debt is forgotten by message and week (R2)`() async throws {
        try await withMigratedDatabase { database in
            let store = SlotDebtStore(pool: database.pool)
            let old = debt(week: "2026-W48")
            let new = Debt(messageID: old.messageID, userID: "u", category: "reminder", weekKey: "2026-W49")
            try await store.owe([old, new])
            try await store.forget([(new.messageID, new.weekKey)])
            let left = try await settled(store)
            #expect(left == [old])
        }
    }

    @Test func `what one worker is settling no other settles, and forgetting waits for it (R2)`() async throws {
        try await withMigratedDatabase { database in
            let store = SlotDebtStore(pool: database.pool)
            let one = debt()
            try await store.owe([one])
            _ = try await store.settle(limit: 10) { _ in
                let others = try await store.settle(limit: 10) { _ in }
                #expect(others == 0)
                let error = await #expect(throws: PostgresError.self) {
                    try await database.pool.transaction { transaction in
                        _ = try await transaction.query("SET LOCAL lock_timeout = '50ms'")
                        _ = try await transaction.query(SlotDebtStore.forget([(one.messageID, one.weekKey)]))
                    }
                }
                #expect(error?.sqlState == "55P03", "it waits for the lock")
            }
            let left = try await settled(store)
            #expect(left.isEmpty)
        }
    }
}
