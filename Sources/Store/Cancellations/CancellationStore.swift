package import Kernel
package import Notifications
package import PostgresClient

/// What was called back (gate 0): a message whose job was created before a moment, found by user, source or message id.
package struct CancellationStore: Sendable {
    /// What a cancellation is about.
    package enum Scope: String, Sendable, CaseIterable {
        /// Everything for a user; stored as a hash, so that an erasure leaves no name behind.
        case user
        /// Everything about a source entity.
        case source
        /// One message.
        case message
    }

    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Calls back what was created before `moment`. A second call for the same key can only move the moment later.
    package func cancel(_ scope: Scope, key: String, before moment: Timestamp, reason: String)
        async throws(PostgresError)
    {
        _ = try await pool.queryRetryingTransient(Self.cancel(scope, key: key, before: moment, reason: reason))
    }

    /// Calls back everything for a user, as an erasure does. Remembered for 400 days, and only as a hash; a user who returns
    /// later is not held back, because later jobs are younger than `moment`.
    package func cancelUser(_ user: UserID, before moment: Timestamp, reason: String) async throws(PostgresError) {
        try await cancel(.user, key: user.rawValue, before: moment, reason: reason)
    }

    static func cancel(_ scope: Scope, key: String, before moment: Timestamp, reason: String) -> SQL {
        """
        INSERT INTO cancellations AS c (scope, key, before, reason)
        SELECT scope, CASE scope WHEN 'user' THEN varsel_user_key(key) ELSE key END, \(moment), \(reason)
        FROM (SELECT \(scope.rawValue) AS scope, \(key) AS key) AS given
        ON CONFLICT (scope, key) DO UPDATE SET before = EXCLUDED.before, reason = EXCLUDED.reason
        WHERE EXCLUDED.before > c.before
        """
    }
}
