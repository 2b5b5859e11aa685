import Kernel
package import Notifications
package import PostgresClient

/// A user's devices for pushes outside the categories.
package struct PushTargetStore: Sendable {
    /// Devices of one user that a push goes to, the newest first.
    package static let devicesPerUser = 50

    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Devices that can be woken. What the user said of notifications does not matter: nothing is shown.
    /// - Parameter device: the app's own name of one of them, `nil` for all.
    package func wakeable(of user: UserID, device: String?) async throws(PostgresError) -> PushTargets {
        try PushTargets(try await pool.query(Self.wakeable(of: user, device: device)), limit: .max)
    }

    /// Devices that can be called, with their PushKit tokens.
    package func callable(of user: UserID, device: String?) async throws(PostgresError) -> PushTargets {
        try PushTargets(try await pool.query(Self.callable(of: user, device: device)), limit: .max)
    }

    /// Forgets PushKit tokens that are dead, unless they were told again since.
    /// - Returns: how many were forgotten.
    package func forgetCallTokens(_ spent: [SpentTarget]) async throws(PostgresError) -> Int {
        guard !spent.isEmpty else { return 0 }
        return try await pool.queryRetryingTransient(Self.forgetCallTokens(spent)).affected
    }

    static func wakeable(of user: UserID, device: String?) -> SQL {
        """
        SELECT clock_timestamp() AS now, user_id, id AS row_id, device_id, provider, token, environment, topic
        FROM devices
        WHERE user_id = \(user.rawValue) AND token IS NOT NULL AND invalidated_at IS NULL
          AND (\(device == nil) OR device_id = \(device))
        ORDER BY registered_at DESC, id LIMIT \(devicesPerUser)
        """
    }

    static func callable(of user: UserID, device: String?) -> SQL {
        """
        SELECT clock_timestamp() AS now, user_id, id AS row_id, device_id, 'apns' AS provider, voip_token AS token,
            environment, topic
        FROM devices
        WHERE user_id = \(user.rawValue) AND voip_token IS NOT NULL
          AND (invalidated_at IS NULL OR voip_registered_at > invalidated_at)
          AND (\(device == nil) OR device_id = \(device))
        ORDER BY voip_registered_at DESC, id LIMIT \(devicesPerUser)
        """
    }

    static func forgetCallTokens(_ spent: [SpentTarget]) -> SQL {
        """
        UPDATE devices d SET voip_token = NULL, voip_registered_at = NULL, updated_at = now()
        FROM unnest(
            \(spent.map { Int($0.target.deviceRowID) }), \(spent.map(\.target.userID.rawValue)),
            \(spent.map(\.target.token)), \(spent.map(\.registeredBefore))
        ) AS e(id, user_id, token, before)
        WHERE d.id = e.id AND d.user_id = e.user_id AND d.voip_token = e.token
          AND d.voip_registered_at < coalesce(e.before, 'infinity')
        """
    }
}

extension PushTargets {
    /// Reads rows with the columns `now, user_id, row_id, device_id, provider, token, environment, topic`.
    /// - Parameter limit: what stands beyond it is only counted as more.
    init(_ rows: PostgresRows, limit: Int) throws(PostgresError) {
        var targets: [PushTarget] = []
        var now = Timestamp(milliseconds: 0)
        for row in rows.prefix(limit) {
            now = try row.timestamp("now")
            guard let user = UserID(try row.string("user_id")),
                let provider = PushProvider(rawValue: try row.string("provider")),
                let environment = PushEnvironment(rawValue: try row.string("environment"))
            else {
                throw PostgresError(.decoding, message: "a push target with an unknown user, provider or environment")
            }
            targets.append(
                PushTarget(
                    userID: user,
                    deviceRowID: try row.int64("row_id"),
                    deviceID: try row.optionalString("device_id"),
                    provider: provider,
                    token: try row.string("token"),
                    environment: environment,
                    topic: try row.string("topic")
                )
            )
        }
        self.init(now: now, targets: targets, hasMore: rows.count > targets.count)
    }
}
