package import PostgresClient

/// Binds a database to one queue: message ids are only unique within one.
package enum Deployment {
    /// The database belongs to another queue.
    package struct Mismatch: Error, Equatable, CustomStringConvertible {
        package let recorded: String
        package let configured: String

        package var description: String {
            "this database serves the queue \(recorded), the configuration says \(configured): correct QUEUE_PREFIX and "
                + "QUEUE_NAME, or use a database of its own"
        }
    }

    /// Records the pair on first use, and compares it from then on.
    /// - Returns: the key that this platform's producers vouch for their jobs with.
    /// - Throws: `Mismatch`, or `PostgresError`.
    @discardableResult
    package static func claim(_ pool: PostgresPool, prefix: String, queue: String) async throws -> String {
        _ = try await pool.query(
            """
            INSERT INTO deployment (queue_prefix, queue_name) VALUES (\(prefix), \(queue)) ON CONFLICT DO NOTHING
            """
        )
        let rows = try await pool.query("SELECT queue_prefix, queue_name, voucher_key FROM deployment")
        guard let row = rows.first else { throw PostgresError(.decoding, message: "no deployment is recorded") }
        let recorded = "\(try row.string("queue_prefix")):\(try row.string("queue_name"))"
        let configured = "\(prefix):\(queue)"
        guard recorded == configured else { throw Mismatch(recorded: recorded, configured: configured) }
        return try row.string("voucher_key")
    }
}
