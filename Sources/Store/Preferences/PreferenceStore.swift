package import Kernel
package import Notifications
package import PostgresClient

/// What users chose (G6, E1–E3). JSONB is only ever changed one path at a time, so that two writers cannot undo each other.
package struct PreferenceStore: Sendable {
    /// One user's preferences as they stand.
    package struct Preferences: Sendable, Equatable {
        /// One category's switch and history.
        package struct CategoryState: Sendable, Equatable {
            /// `nil` when never asked.
            package var isEnabled: Bool?
            package var lastSentAt: Timestamp?

            package init(isEnabled: Bool? = nil, lastSentAt: Timestamp? = nil) {
                self.isEnabled = isEnabled
                self.lastSentAt = lastSentAt
            }
        }

        /// `granted`, `denied` or `notDetermined`.
        package var permission = "notDetermined"
        package var categories: [String: CategoryState] = [:]
        package var timezone: String?
        package var language: String?
        package var silenceUntil: Timestamp?

        package init() {}
    }

    /// What is to be changed; `nil` leaves a value alone.
    package struct Change: Sendable, Equatable {
        /// By category.
        package var switches: [String: Bool] = [:]
        package var permission: DeviceRecord.Permission?
        package var timezone: String?
        package var language: String?
        /// `.some(nil)` ends the silence.
        package var silenceUntil: Timestamp??

        package init() {}
    }

    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// A user without a row has the defaults.
    package func preferences(of user: UserID) async throws(PostgresError) -> Preferences {
        guard let row = try await pool.query(PreferenceSQL.read(user)).first else { return Preferences() }
        return try Preferences(row)
    }

    /// Applies a change in one transaction, making the row where there is none.
    /// - Returns: the preferences as they are now; `nil`, with nothing changed, when the database does not know the zone.
    package func change(_ change: Change, of user: UserID) async throws -> Preferences? {
        if let zone = change.timezone, try await !TimeZoneStore(pool: pool).isKnown(zone) { return nil }
        return try await retryingTransient {
            try await pool.transaction { transaction in
                _ = try await transaction.query(PreferenceSQL.change(change, of: user))
                for (category, isEnabled) in change.switches.sorted(by: { $0.key < $1.key }) {
                    _ = try await transaction.query(PreferenceSQL.setSwitch(isEnabled, category: category, of: user))
                }
                let row = try await transaction.query(PreferenceSQL.read(user)).first
                return try row.map(Preferences.init) ?? Preferences()
            }
        }
    }

    /// Forgets when categories were last sent and ends the silence: for development only.
    package func forgetHistory(of user: UserID) async throws(PostgresError) {
        _ = try await pool.queryRetryingTransient(PreferenceSQL.forgetHistory(of: user))
    }
}

extension PreferenceStore.Preferences {
    /// Reads a row of `PreferenceSQL.read`. Members of a category that are not of the known kind count as absent.
    init(_ row: PostgresRow) throws(PostgresError) {
        permission = try row.string("ios_permission_status")
        timezone = try row.optionalString("timezone")
        language = try row.optionalString("language")
        silenceUntil = try row.optionalTimestamp("silence_until")
        for member in try row.json("categories").members ?? [] {
            categories[member.name] = CategoryState(
                isEnabled: member.value["enabled"]?.boolValue,
                lastSentAt: member.value["lastSentAt"]?.stringValue.flatMap { Timestamp(rfc3339: $0) }
            )
        }
    }
}
