package import Kernel
package import Notifications
package import PostgresClient

/// Everything the database holds of a user: to be told, and to be erased (contracts of erasure).
package struct PersonalDataStore: Sendable {
    /// A user's rows by table, in the order of the registry.
    package struct Page: Sendable {
        package let tables: [(name: String, rows: [JSONValue])]
        /// Whether a table has more rows than this page.
        package let hasMore: Bool
    }

    /// An erasure that is not complete.
    package struct Erasure: Sendable, Equatable {
        package let userID: UserID
        /// What came into being before goes.
        package let requestedAt: Timestamp
        /// The next pass.
        package let dueAt: Timestamp
        /// Passes done.
        package let passes: Int
    }

    /// The reason in gate 0's word for an erased user. Events that carry it name the user by the same hash.
    package static let reason = "erased"
    /// From one pass to the next, and until a pass that failed is tried again.
    private static let interval = 60
    /// More jobs of one user are not looked for in a pass.
    private static let mostJobs = 10_000

    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// One page of everything there is of a user: of every table the rows from `offset` on, `limit` at most.
    package func page(of user: UserID, limit: Int, offset: Int) async throws(PostgresError) -> Page {
        var tables: [(name: String, rows: [JSONValue])] = []
        var hasMore = false
        for table in PersonalTable.all {
            guard let exported = table.exported else { continue }
            var rows: [JSONValue] = []
            for row in try await pool.query(exported(user, limit + 1, offset)) { rows.append(try row.json("line")) }
            if rows.count > limit {
                hasMore = true
                rows.removeLast()
            }
            tables.append((table.name, rows))
        }
        return Page(tables: tables, hasMore: hasMore)
    }

    /// Records that a user is to be erased, and calls back everything that is queued for them. From here on it happens, whatever
    /// fails.
    package func begin(_ user: UserID) async throws -> Erasure {
        try await retryingTransient {
            try await pool.transaction { transaction in
                guard let row = try await transaction.query(PersonalDataSQL.begin(user, after: Self.interval)).first
                else { throw PostgresError(.decoding, message: "no erasure was recorded") }
                let erasure = try Erasure(row)
                _ = try await transaction.query(
                    CancellationStore.cancel(
                        .user,
                        key: user.rawValue,
                        before: erasure.requestedAt,
                        reason: Self.reason
                    )
                )
                return erasure
            }
        }
    }

    /// The jobs that rows and events name: what of the user may still lie in Redis.
    package func jobIDs(of user: UserID) async throws(PostgresError) -> [String] {
        var ids: [String] = []
        for row in try await pool.query(PersonalDataSQL.jobIDs(of: user, limit: Self.mostJobs)) {
            ids.append(try row.string("job_id"))
        }
        return ids
    }

    /// The ISO weeks in which the user may hold weekly slots.
    package func recentWeeks() async throws(PostgresError) -> [String] {
        var weeks: [String] = []
        for row in try await pool.query(PersonalDataSQL.recentWeeks) { weeks.append(try row.string("week")) }
        return weeks
    }

    /// Erases what came into being before the request, from all tables at once.
    /// - Returns: how many rows were removed or emptied.
    package func erase(_ erasure: Erasure) async throws -> Int {
        try await retryingTransient {
            try await pool.transaction { transaction in
                // As registration and invalidation do: first the lock, then the devices.
                let user = erasure.userID
                _ = try await transaction.query(DeviceSQL.lockPreferences(of: [user.rawValue]))
                var count = 0
                for table in PersonalTable.all {
                    count += try await transaction.query(table.erased(user, erasure.requestedAt)).affected
                }
                return count
            }
        }
    }

    /// Notes that a pass was done; the second one ends the erasure.
    package func finishPass(_ erasure: Erasure) async throws(PostgresError) {
        _ = try await pool.queryRetryingTransient(PersonalDataSQL.finishPass(erasure, interval: Self.interval))
        _ = try await pool.queryRetryingTransient(PersonalDataSQL.remove(erasure, passes: 2))
    }

    /// Takes erasures whose next pass is due. Nobody else is given them for a minute.
    package func claimDue(limit: Int) async throws(PostgresError) -> [Erasure] {
        var erasures: [Erasure] = []
        let claim = PersonalDataSQL.claimDue(limit: limit, lease: Self.interval)
        for row in try await pool.queryRetryingTransient(claim) { erasures.append(try Erasure(row)) }
        return erasures
    }
}

extension PersonalDataStore.Erasure {
    fileprivate init(_ row: PostgresRow) throws(PostgresError) {
        guard let user = UserID(try row.string("user_id")) else {
            throw PostgresError(.decoding, message: "an erasure of what is no user id")
        }
        self.init(
            userID: user,
            requestedAt: try row.timestamp("requested_at"),
            dueAt: try row.timestamp("due_at"),
            passes: try row.int("passes")
        )
    }
}
