package import Notifications
package import PostgresClient

/// Keeps weekly slots that are to be freed until the caps can be asked again, whichever worker lives to see it.
package struct SlotDebtStore: Sendable {
    /// A slot of a message in a week.
    package struct Debt: Sendable, Equatable {
        package let messageID: MessageID
        package let userID: String
        package let category: String
        package let weekKey: String

        package init(messageID: MessageID, userID: String, category: String, weekKey: String) {
            self.messageID = messageID
            self.userID = userID
            self.category = category
            self.weekKey = weekKey
        }
    }

    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Notes slots to be freed. Noting one twice is harmless.
    package func owe(_ debts: [Debt]) async throws(PostgresError) {
        guard !debts.isEmpty else { return }
        _ = try await pool.queryRetryingTransient(Self.owe(debts))
    }

    /// Forgets debts, because their slots are about to be taken anew. Waits for one that is being settled at this moment.
    package func forget(_ debts: [(messageID: MessageID, weekKey: String)]) async throws(PostgresError) {
        guard !debts.isEmpty else { return }
        _ = try await pool.queryRetryingTransient(Self.forget(debts))
    }

    /// Frees the oldest debts and forgets them. What another worker is settling is left to it; when `free` throws, all stay. The slot of
    /// a message that holds it again, or still, is not freed.
    /// - Returns: how many were settled.
    package func settle(limit: Int, by free: @Sendable ([Debt]) async throws -> Void) async throws -> Int {
        try await pool.transaction { transaction in
            var (debts, own): ([Debt], [Bool]) = ([], [])
            for row in try await transaction.query(Self.lock(limit: limit)) {
                guard let id = MessageID(try row.uuid("message_id")) else { continue }
                debts.append(
                    Debt(
                        messageID: id,
                        userID: try row.string("user_id"),
                        category: try row.string("category"),
                        weekKey: try row.string("week_key")
                    )
                )
                own.append(try row.bool("is_own"))
            }
            guard !debts.isEmpty else { return 0 }
            let unowned = zip(debts, own).filter { !$0.1 }.map(\.0)
            if !unowned.isEmpty { try await free(unowned) }
            _ = try await transaction.query(Self.forget(debts.map { ($0.messageID, $0.weekKey) }))
            return debts.count
        }
    }

    /// In the order of the key, so that two workers cannot lock each other out.
    static func owe(_ debts: [Debt]) -> SQL {
        """
        INSERT INTO slot_debts (message_id, week_key, user_id, category)
        SELECT * FROM unnest(
            \(debts.map(\.messageID.bits)), \(debts.map(\.weekKey)), \(debts.map(\.userID)), \(debts.map(\.category))
        ) AS d(message_id, week_key, user_id, category)
        ORDER BY message_id, week_key
        ON CONFLICT DO NOTHING
        """
    }

    static func forget(_ debts: [(messageID: MessageID, weekKey: String)]) -> SQL {
        """
        DELETE FROM slot_debts d
        USING unnest(\(debts.map(\.messageID.bits)), \(debts.map(\.weekKey))) AS g(message_id, week_key)
        WHERE d.message_id = g.message_id AND d.week_key = g.week_key
        """
    }

    static func lock(limit: Int) -> SQL {
        """
        SELECT d.message_id, d.user_id, d.category, d.week_key, EXISTS (
            SELECT FROM notification_messages m
            WHERE m.id = d.message_id AND m.week_key = d.week_key AND m.status IN ('pending', 'sent', 'unknown')
        ) AS is_own
        FROM slot_debts d ORDER BY d.created_at LIMIT \(limit) FOR UPDATE OF d SKIP LOCKED
        """
    }
}
