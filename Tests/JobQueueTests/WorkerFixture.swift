import JobQueue
import Kernel
import RedisClient
import TestSupport

/// The failure of a test's handler.
struct HandlerFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String = "as asked") {
        self.description = description
    }
}

extension QueueFixture {
    /// A queue that goes by the true time, for tests with a worker that runs.
    static func live<Value>(_ body: (QueueFixture) async throws -> Value) async throws -> Value {
        try await run(wallClock: SystemWallClock(), body)
    }

    /// Runs a worker while `body` does, and stops it in good order.
    func working<Value>(
        _ options: JobWorker.Options = .init(name: "w", concurrency: 8),
        handler: @escaping JobWorker.Handler,
        _ body: (JobWorker) async throws -> Value
    ) async throws -> Value {
        let worker = JobWorker(
            queue: queue,
            redis: redis.client,
            blockingURL: redis.url,
            options: options,
            handler: handler
        )
        return try await worker.running { try await body(worker) }
    }

    /// Waits until so many jobs are in the state.
    func eventually(_ state: KeyPath<JobCounts, Int>, _ count: Int) async throws {
        try await JobQueueTests.eventually { try await queue.counts()[keyPath: state] == count }
    }
}

extension JobWorker {
    /// Runs this worker while `body` does, and stops it in good order.
    func running<Value>(_ body: () async throws -> Value) async throws -> Value {
        let stop = Latch()
        let run = Task { try await self.run { await stop.wait() } }
        let result: Result<Value, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        stop.open()
        try await run.value
        return try result.get()
    }
}

extension JobWorker.Options {
    /// A worker that takes one job after another.
    static let single = JobWorker.Options(name: "w", concurrency: 1)
}
