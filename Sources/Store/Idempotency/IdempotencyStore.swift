package import Kernel
package import PostgresClient

/// Requests by credential and idempotency key, remembered for a day (G10). The row stands before anything is enqueued, so that a
/// repeat goes on with the same message ids.
package struct IdempotencyStore: Sendable {
    /// What is known of a request with the key.
    package enum Verdict: Sendable, Equatable {
        /// Go on with these ids: the caller's own for a new key, the recorded ones for a request that began and never ended.
        case proceed([UUIDBits])
        /// The same request runs elsewhere at this moment.
        case running
        /// It has ended with this answer.
        case done(status: Int, response: String)
        /// The key was used for another request.
        case mismatch
    }

    /// A request that has not ended after so many seconds is taken for dead, and a repeat takes it over. Longer than any request
    /// is let run.
    private static let lease = 60

    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Claims the key.
    package func begin(
        credential: String,
        key: String,
        fingerprint: String,
        messageIDs: [UUIDBits]
    ) async throws(PostgresError) -> Verdict {
        // Twice, because a row may be removed for its age between the two looks.
        for _ in 0..<2 {
            let claim = Self.claim(credential: credential, key: key, fingerprint: fingerprint, messageIDs: messageIDs)
            if let row = try await pool.queryRetryingTransient(claim).first {
                return .proceed(try Self.ids(row.json("message_ids")))
            }
            guard let row = try await pool.query(Self.read(credential: credential, key: key)).first else { continue }
            guard try row.string("fingerprint") == fingerprint else { return .mismatch }
            guard try row.string("state") == "done" else { return .running }
            return .done(status: try row.int("status"), response: try row.string("response"))
        }
        return .running
    }

    /// Records the answer.
    package func finish(credential: String, key: String, status: Int, response: String) async throws(PostgresError) {
        _ = try await pool.queryRetryingTransient(
            Self.finish(credential: credential, key: key, status: status, response: response)
        )
    }

    /// Gives the key free after a failure; a repeat goes on at once, with the same ids.
    package func release(credential: String, key: String) async throws(PostgresError) {
        _ = try await pool.queryRetryingTransient(Self.release(credential: credential, key: key))
    }

    private static func ids(_ value: JSONValue) throws(PostgresError) -> [UUIDBits] {
        var ids: [UUIDBits] = []
        for element in value.arrayValue ?? [] {
            guard let id = element.stringValue.flatMap({ UUIDBits($0) }) else {
                throw PostgresError(.decoding, message: "message_ids holds something else than UUIDs")
            }
            ids.append(id)
        }
        return ids
    }

    /// Inserts the row, or takes over one that is a day old or whose request died.
    static func claim(credential: String, key: String, fingerprint: String, messageIDs: [UUIDBits]) -> SQL {
        """
        INSERT INTO idempotency_keys AS k (credential, key, fingerprint, message_ids, state)
        VALUES (\(credential), \(key), \(fingerprint), \(messageIDs), 'running')
        ON CONFLICT (credential, key) DO UPDATE SET
            message_ids = CASE WHEN k.created_at < now() - interval '24 hours' THEN EXCLUDED.message_ids
                ELSE k.message_ids END,
            created_at = CASE WHEN k.created_at < now() - interval '24 hours' THEN now() ELSE k.created_at END,
            fingerprint = EXCLUDED.fingerprint, state = 'running', status = NULL, response = NULL, started_at = now()
        WHERE k.created_at < now() - interval '24 hours'
            OR (k.state = 'running' AND k.fingerprint = EXCLUDED.fingerprint
                AND k.started_at < now() - make_interval(secs => \(lease)))
        RETURNING to_json(message_ids) AS message_ids
        """
    }

    static func read(credential: String, key: String) -> SQL {
        """
        SELECT fingerprint, state, status, response FROM idempotency_keys
        WHERE credential = \(credential) AND key = \(key)
        """
    }

    static func finish(credential: String, key: String, status: Int, response: String) -> SQL {
        """
        UPDATE idempotency_keys SET state = 'done', status = \(status), response = \(response)
        WHERE credential = \(credential) AND key = \(key)
        """
    }

    static func release(credential: String, key: String) -> SQL {
        """
        UPDATE idempotency_keys SET started_at = '-infinity'
        WHERE credential = \(credential) AND key = \(key) AND state = 'running'
        """
    }
}
