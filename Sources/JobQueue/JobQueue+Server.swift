import Kernel
import Observability
package import RedisClient

extension JobQueue {
    /// Asks whether the server may hold this queue, and says loudly when a restart of it would lose jobs.
    /// - Throws: `redis` when it cannot be asked, is older than 6.2 or may evict keys; `needsHashTag` when it is a cluster in
    ///   which the queue's keys would lie in several slots.
    @discardableResult
    package func checkServer() async throws(JobQueueError) -> RedisServerCheck {
        let check = try await connection.translating { () async throws(RedisError) in
            try await RedisServerCheck.run(connection.redis)
        }
        guard !check.isCluster || name.hasHashTag else {
            throw JobQueueError(
                .needsHashTag,
                "the server is a Redis Cluster and the prefix \(name.prefix) keeps the queue in no single slot; "
                    + "put it in braces, such as {\(name.prefix)}"
            )
        }
        for warning in check.warnings {
            telemetry.logger.warning("Redis is not set up for keeping jobs", ["problem": .string(warning)])
        }
        return check
    }
}
