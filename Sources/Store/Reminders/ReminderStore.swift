package import Kernel
package import Notifications
package import PostgresClient

/// Who is to be reminded, and which week each user's reminder was for (P1, P4).
///
/// `reminder_weeks` alone decides that nobody gets a second one: whatever a queue remembers or forgot plays no part.
package struct ReminderStore: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// The database's clock, which every decision of a run goes by.
    package func now() async throws(PostgresError) -> Timestamp {
        guard let row = try await pool.query("SELECT clock_timestamp() AS now").first else {
            throw PostgresError(.decoding, message: "no time")
        }
        return try row.timestamp("now")
    }

    /// The zones that users with activity live in. Users of an unknown zone live in none.
    package func zones(at now: Timestamp) async throws(PostgresError) -> [ReminderZone] {
        var zones: [ReminderZone] = []
        for row in try await pool.query(ReminderSQL.zones(at: now)) {
            zones.append(
                ReminderZone(
                    name: try row.string("name"),
                    localMinute: try row.int("local_minute"),
                    weekKey: try row.string("week_key"),
                    hour: try row.string("hour")
                )
            )
        }
        return zones
    }

    /// A page of users to be reminded.
    /// - Parameters:
    ///   - cursor: the last user of the page before.
    ///   - limit: how many at most; fewer mean that there are no more.
    package func due(
        _ search: ReminderSearch,
        behind cursor: ReminderSearch.Cursor? = nil,
        limit: Int
    ) async throws(PostgresError) -> [ReminderSearch.Found] {
        var found: [ReminderSearch.Found] = []
        for row in try await pool.query(ReminderSQL.due(search, behind: cursor, limit: limit)) {
            found.append(
                ReminderSearch.Found(
                    userID: try Self.user(row),
                    lastActivity: try row.timestamp("last_activity_at"),
                    language: try row.optionalString("language")
                )
            )
        }
        return found
    }

    /// Claims weeks.
    /// - Returns: the claims that are ours; a user who has a reminder for the week already is not among them.
    package func claim(_ claims: [ReminderClaim], at now: Timestamp) async throws(PostgresError) -> [ReminderClaim] {
        guard !claims.isEmpty else { return [] }
        var ours: Set<UUIDBits> = []
        for row in try await pool.queryRetryingTransient(ReminderSQL.claim(claims, at: now)) {
            ours.insert(try row.uuid("message_id"))
        }
        return claims.filter { ours.contains($0.messageID.bits) }
    }

    /// Notes that the messages of claims are in the queue, or never will be.
    package func markEnqueued(_ claims: [(userID: UserID, weekKey: String)]) async throws(PostgresError) {
        guard !claims.isEmpty else { return }
        let rows = claims.map { (userID: $0.userID.rawValue, weekKey: $0.weekKey) }
        // A mark that a crash of the server loses is made good like one that was never made: nobody needs to wait for the disk.
        _ = try await pool.batch(["SET LOCAL synchronous_commit = off", ReminderSQL.markEnqueued(rows)])
    }

    /// Takes up claims that a run left behind when it died.
    /// - Parameters:
    ///   - moment: only claims made until then; a younger one may belong to a run that is at work.
    ///   - zones: only users of these zones, in their present week.
    package func takeUp(
        claimedBefore moment: Timestamp,
        zones: [ReminderZone],
        now: Timestamp,
        limit: Int
    ) async throws(PostgresError) -> [AbandonedReminder] {
        let statement = ReminderSQL.takeUp(claimedBefore: moment, zones: zones, now: now, limit: limit)
        var abandoned: [AbandonedReminder] = []
        for row in try await pool.queryRetryingTransient(statement) {
            guard let messageID = MessageID(try row.uuid("message_id")) else {
                throw PostgresError(.decoding, message: "a reminder's id is no message id")
            }
            abandoned.append(
                AbandonedReminder(
                    userID: try Self.user(row),
                    weekKey: try row.string("week_key"),
                    messageID: messageID,
                    lastActivity: try row.timestamp("last_activity_at")
                )
            )
        }
        return abandoned
    }

    /// Frees the weeks of reminders that expired unseen, so that a sweep decides anew.
    /// - Returns: how many.
    package func releaseExpired(category: String, now: Timestamp) async throws(PostgresError) -> Int {
        try await pool.queryRetryingTransient(ReminderSQL.release(category: category, now: now)).affected
    }

    /// How many users would be reminded (`due`), and how many not and why. Reads every user; for people.
    package func census(
        _ search: ReminderSearch,
        open: [ReminderZone]
    ) async throws(PostgresError) -> [(reason: String, count: Int)] {
        var counts: [(reason: String, count: Int)] = []
        for row in try await pool.query(ReminderSQL.census(search, open: open)) {
            counts.append((try row.string("reason"), try row.int("n")))
        }
        return counts
    }

    private static func user(_ row: PostgresRow) throws(PostgresError) -> UserID {
        guard let user = UserID(try row.string("user_id")) else {
            throw PostgresError(.decoding, message: "a user id breaks the rule")
        }
        return user
    }
}
