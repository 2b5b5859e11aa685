package import Notifications
package import PostgresClient

/// Running Live Activities and what starts one (G3).
package struct LiveActivityStore: Sendable {
    /// Sessions a user may have; a phone shows fewer than ten activities.
    package static let sessionsPerUser = 32
    /// Push-to-start tokens that are used of one user, the newest first.
    package static let startsPerUser = 5
    /// How often a registration that met another one is run again.
    private static let tries = 5

    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Makes or renews a session. A session that held the token before goes, and so do the user's oldest ones above
    /// `sessionsPerUser`.
    /// - Parameters:
    ///   - environment: for a session that says none, of a device that is not known.
    ///   - topic: likewise.
    package func register(
        _ session: LiveActivitySession,
        of user: UserID,
        environment: PushEnvironment,
        topic: String
    ) async throws {
        for _ in 1..<Self.tries {
            do {
                return try await registerOnce(session, user, environment, topic)
            } catch let error as PostgresError where error.isTransient || error.sqlState == "23505" {
                // Another registration brought the same token between our two statements.
                continue
            }
        }
        try await registerOnce(session, user, environment, topic)
    }

    private func registerOnce(
        _ session: LiveActivitySession,
        _ user: UserID,
        _ environment: PushEnvironment,
        _ topic: String
    ) async throws {
        try await pool.transaction { transaction in
            _ = try await transaction.query(LiveActivitySQL.removeOthers(session, user: user))
            _ = try await transaction.query(
                LiveActivitySQL.save(session, user: user, environment: environment, topic: topic)
            )
            _ = try await transaction.query(LiveActivitySQL.trim(user, keeping: Self.sessionsPerUser))
        }
    }

    /// Removes the user's own session; one that is not there is no error.
    package func remove(stream: StreamID, device: String, of user: UserID) async throws(PostgresError) {
        _ = try await pool.queryRetryingTransient(LiveActivitySQL.remove(stream: stream, device: device, of: user))
    }

    /// A page of a stream's sessions in the order of user and device.
    /// - Parameters:
    ///   - users: `nil` for all.
    ///   - after: the last one of the page before.
    ///   - limit: the most of one page.
    package func sessions(
        of stream: StreamID,
        users: [UserID]?,
        after: (user: String, device: String)?,
        limit: Int
    ) async throws(PostgresError) -> PushTargets {
        // One more than asked for tells whether there is another page.
        let rows = try await pool.query(
            LiveActivitySQL.page(of: stream, users: users?.map(\.rawValue), after: after, limit: limit + 1)
        )
        return try PushTargets(rows, limit: limit)
    }

    /// Where an activity can be started for these users, `startsPerUser` devices each.
    package func startTargets(of users: [UserID]) async throws(PostgresError) -> PushTargets {
        let rows = try await pool.query(
            LiveActivitySQL.startTargets(of: users.map(\.rawValue), eachAtMost: Self.startsPerUser)
        )
        return try PushTargets(rows, limit: .max)
    }

    /// Ends sessions whose activity is over or whose token is dead.
    /// - Returns: how many ended.
    package func end(_ spent: [SpentTarget], of stream: StreamID) async throws(PostgresError) -> Int {
        guard !spent.isEmpty else { return 0 }
        return try await pool.queryRetryingTransient(LiveActivitySQL.end(spent, of: stream)).affected
    }

    /// Forgets push-to-start tokens that are dead.
    /// - Returns: how many were forgotten.
    package func forgetStartTokens(_ spent: [SpentTarget]) async throws(PostgresError) -> Int {
        guard !spent.isEmpty else { return 0 }
        return try await pool.queryRetryingTransient(LiveActivitySQL.forgetStartTokens(spent)).affected
    }
}
