import Kernel
import Observability
package import RedisClient
import Synchronization

/// Reads the events of one queue, whoever writes them, on a connection of its own.
///
/// Events are a short memory: the stream keeps about ten thousand, and a reader that falls further behind misses some
/// without being told. Decide by a job's state; use events to learn when to look.
package final class QueueEvents: Sendable {
    /// How many events one read gives at most.
    package static let limit = 1000

    private let redis: RedisClient
    private let queue: JobQueue
    private let position: Mutex<String?>

    /// - Parameters:
    ///   - url: the queue's server again; waiting needs a connection of its own.
    ///   - after: the position of the last event already seen; from now on when not given.
    package init(queue: JobQueue, url: RedisURL, after: String? = nil) {
        self.queue = queue
        position = Mutex(after)
        redis = RedisClient(
            url: url,
            options: RedisClient.Options(label: "queue-events"),
            telemetry: queue.telemetry
        )
    }

    /// Sets where reading begins: events from this moment on are seen. `read` does it when nobody did.
    package func start() async throws(JobQueueError) {
        _ = try await begin()
    }

    /// The next events in their order, waiting for one at most so long; an empty list when none came.
    package func read(upTo wait: Duration) async throws(JobQueueError) -> [QueueEvent] {
        let from = try await begin()
        let milliseconds = max(wait.milliseconds, 1)
        let reply = try await queue.connection.translating { () async throws(RedisError) -> RedisReply in
            try await redis.send(
                RedisCommand([
                    "XREAD", "COUNT", .init(Self.limit), "BLOCK", .integer(milliseconds), "STREAMS",
                    queue.key("events"), .string(from),
                ]),
                timeout: .milliseconds(milliseconds) + .seconds(2)
            )
        }
        if reply.isNull { return [] }
        let events = try reply.reading { reply throws(RedisError) in
            var events: [QueueEvent] = []
            for stream in try reply.requireArray("events") {
                for entry in try (stream.array?.last ?? .null).requireArray("events") {
                    let parts = try entry.requireArray("events")
                    guard parts.count == 2 else { continue }
                    events.append(
                        QueueEvent(
                            position: try parts[0].requireString("events"),
                            fields: try parts[1].requireFields("events")
                        )
                    )
                }
            }
            return events
        }
        if let last = events.last { position.withLock { $0 = last.position } }
        return events
    }

    /// Waits until a job has ended, and tells how.
    /// - Returns: the job; `nil` when it is gone, or not at its end within `upTo`.
    package func waitUntilFinished(_ id: String, upTo: Duration) async throws(JobQueueError) -> StoredJob? {
        let deadline = ContinuousClock.now + upTo
        try await start()
        while true {
            // The state decides; an event may have been trimmed away or missed before the start.
            guard let job = try await queue.job(id) else { return nil }
            if job.state == "completed" || job.state == "failed" { return job }
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero else { return nil }
            _ = try await read(upTo: min(left, .seconds(5)))
        }
    }

    package func close() async {
        await redis.close()
    }

    /// A concrete position instead of `$`, so that nothing is missed between two reads.
    private func begin() async throws(JobQueueError) -> String {
        if let known = position.withLock({ $0 }) { return known }
        let reply = try await queue.connection.translating { () async throws(RedisError) -> RedisReply in
            try await redis.send(RedisCommand(["XREVRANGE", queue.key("events"), "+", "-", "COUNT", 1]))
        }
        let last = reply.array?.first?.array?.first?.string ?? "0-0"
        return position.withLock { current in
            if let current { return current }
            current = last
            return last
        }
    }
}
