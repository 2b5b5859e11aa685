package import Kernel
package import PostgresClient

/// What was called back (gate 0): a message whose job was created before a moment, found by user, source or message id.
package struct CancellationStore: Sendable {
    /// What a cancellation is about.
    package enum Scope: String, Sendable, CaseIterable {
        /// Everything for a user.
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

    static func cancel(_ scope: Scope, key: String, before moment: Timestamp, reason: String) -> SQL {
        """
        INSERT INTO cancellations AS c (scope, key, before, reason)
        VALUES (\(scope.rawValue), \(key), \(moment), \(reason))
        ON CONFLICT (scope, key) DO UPDATE SET before = EXCLUDED.before, reason = EXCLUDED.reason
        WHERE EXCLUDED.before > c.before
        """
    }
}
