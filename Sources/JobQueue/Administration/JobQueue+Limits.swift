import Kernel
import RedisClient

/// At most so many jobs begin in each window, over all workers of the queue together.
package struct QueueRateLimit: Sendable, Equatable {
    package let max: Int
    package let duration: Duration

    package init(max: Int, duration: Duration) {
        self.max = max
        self.duration = duration
    }
}

extension JobQueue {
    /// Stops workers from taking jobs. Jobs that are active go on.
    package func pause() async throws(JobQueueError) {
        _ = try await connection.run(QueueScripts.pause, ["1"])
    }

    package func resume() async throws(JobQueueError) {
        _ = try await connection.run(QueueScripts.pause, ["0"])
    }

    package func isPaused() async throws(JobQueueError) -> Bool {
        try await integer(["HEXISTS", key("meta"), "paused"]) == 1
    }

    /// How many jobs may be active at once over all workers, `nil` for no limit.
    package func setGlobalConcurrency(_ limit: Int?) async throws(JobQueueError) {
        if let limit, limit < 1 {
            throw JobQueueError(.tooMany, "a concurrency is at least 1; pause the queue instead")
        }
        _ = try await connection.run(QueueScripts.limits, ["concurrency", limit.map { .init($0) } ?? ""])
    }

    package func globalConcurrency() async throws(JobQueueError) -> Int? {
        try await connection.send(["HGET", key("meta"), "concurrency"]).int
    }

    /// Limits how many jobs begin in a window, over all workers; `nil` for no limit. The window that runs goes on.
    package func setGlobalRateLimit(_ limit: QueueRateLimit?) async throws(JobQueueError) {
        if let limit, limit.max < 1 || limit.duration.milliseconds < 1 {
            throw JobQueueError(.tooMany, "a rate limit needs at least one job and one millisecond")
        }
        _ = try await connection.run(
            QueueScripts.limits,
            limit.map { ["rate", .init($0.max), .integer($0.duration.milliseconds)] } ?? ["rate", ""]
        )
    }

    package func globalRateLimit() async throws(JobQueueError) -> QueueRateLimit? {
        let parts = try await connection.send(["HMGET", key("meta"), "max", "duration"]).array ?? []
        guard let max = parts.first?.int else { return nil }
        return QueueRateLimit(max: max, duration: .milliseconds(parts.last?.int ?? 1000))
    }

    /// Lets no job begin for a while. It holds only while a rate limit is set, for the queue or by its workers.
    package func holdBack(for duration: Duration) async throws(JobQueueError) {
        // The largest number that every client reads exactly.
        _ = try await connection.send([
            "SET", key("limiter"), 9_007_199_254_740_991, "PX", .integer(max(duration.milliseconds, 1)),
        ])
    }

    /// Begins a new window of the rate limit at once.
    package func clearRateLimitWindow() async throws(JobQueueError) {
        _ = try await connection.send(["DEL", key("limiter")])
    }

    /// How long the rate limit still lets nothing begin.
    package func limitedFor() async throws(JobQueueError) -> Duration? {
        let replies = try await connection.pipeline([
            ["HGET", key("meta"), "max"], ["GET", key("limiter")], ["PTTL", key("limiter")],
        ])
        guard let max = replies[0].integer, let started = replies[1].integer, let rest = replies[2].integer,
            started >= max, rest > 0
        else { return nil }
        return .milliseconds(rest)
    }

    func key(_ suffix: String) -> RedisArgument { .string(name.keyPrefix + suffix) }

    func integer(_ command: [RedisArgument]) async throws(JobQueueError) -> Int {
        try await connection.send(command).reading { reply throws(RedisError) in try reply.requireInt("number") }
    }
}
