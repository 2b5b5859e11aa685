import Foundation
import JobQueue
import Kernel
import Observability
import RedisClient
import TestSupport
import Testing

/// Which servers a worker accepts, and what it needs of them (B3, B5).
@Suite(.timeLimit(.minutes(2)))
struct WorkerServerTests {
    private func withQueue(
        _ url: RedisURL,
        prefix: String = "bull",
        telemetry: Telemetry = .silent(),
        _ body: (JobQueue, RedisClient) async throws -> Void
    ) async throws {
        let client = RedisClient(url: url, options: .init(commandTimeout: .seconds(20)), telemetry: .silent())
        let name = try QueueName(prefix: prefix, name: "q")
        try await body(JobQueue(redis: client, name: name, telemetry: telemetry), client)
        await client.close()
    }

    private func worker(
        _ queue: JobQueue,
        _ client: RedisClient,
        _ url: RedisURL,
        handler: @escaping JobWorker.Handler
    ) -> JobWorker {
        JobWorker(queue: queue, redis: client, blockingURL: url, options: .init(name: "w"), handler: handler)
    }

    @Test func `a server that may evict keys is refused`() async throws {
        try await PrivateRedis.run(settings: ["--maxmemory-policy", "allkeys-lru"]) { server in
            try await withQueue(server.url) { queue, client in
                let error = await #expect(throws: JobQueueError.self) {
                    try await worker(queue, client, server.url) { _ in "null" }.run {}
                }
                #expect(error?.underlying?.code == .unfitServer)
                #expect(error?.description.contains("noeviction") == true)
            }
        }
    }

    @Test func `a server without an append-only file is used, but said loudly`() async throws {
        try await PrivateRedis.run(settings: ["--appendonly", "no"]) { server in
            let sink = MemorySink()
            try await withQueue(server.url, telemetry: .silent(sink: sink)) { queue, client in
                try await worker(queue, client, server.url) { _ in "null" }.run {}
            }
            #expect(sink.lines.contains { $0.contains("appendonly is off") && $0.contains("warning") })
        }
    }

    @Test func `on a cluster the queue must lie in one slot, and then all of it works`() async throws {
        let ports = ["--port", "\(freePort())", "--cluster-port", "\(freePort())"]
        try await PrivateRedis.run(settings: ["--cluster-enabled", "yes"] + ports) { server in
            try await withQueue(server.url) { queue, client in
                _ = try await client.send(RedisCommand(["CLUSTER", "ADDSLOTSRANGE", 0, 16_383]))
                try await eventually {
                    try await client.send(RedisCommand(["CLUSTER", "INFO"])).requireString("INFO")
                        .contains("cluster_state:ok")
                }
                let error = await #expect(throws: JobQueueError.self) {
                    try await worker(queue, client, server.url) { _ in "null" }.run {}
                }
                #expect(error?.code == .needsHashTag)
                #expect(error?.description.contains("{bull}") == true)
            }
            try await withQueue(server.url, prefix: "{bull}") { queue, client in
                try await useEverything(queue, client, server.url)
            }
        }
    }

    /// The user as the documentation has it, so that what operators copy is what is tested.
    private func documentedUser() throws -> [String] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appendingPathComponent("docs/bullmq.md"), encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("ACL SETUSER varsel ") })
        return line.split(separator: " ").map(String.init)
    }

    @Test func `a user that may only touch the queue's keys does everything a service does`() async throws {
        try await PrivateRedis.run { server in
            try await withQueue(server.url) { _, admin in
                _ = try await admin.send(RedisCommand(try documentedUser().map { RedisArgument.string($0) }))
                let url = RedisURL(address: server.url.address, user: "varsel", password: "SECRET")
                try await withQueue(url) { queue, client in
                    try await useEverything(queue, client, url)
                    for foreign in [["SET", "other:key", "1"], ["FLUSHALL"], ["CONFIG", "GET", "*"], ["KEYS", "*"]] {
                        let error = await #expect(throws: RedisError.self) {
                            try await client.send(RedisCommand(foreign.map { RedisArgument.string($0) }))
                        }
                        #expect(error?.serverCode == "NOPERM")
                    }
                }
            }
        }
    }

    /// The whole life of jobs: plain, delayed, with priority, failing, stalled, given back, paused.
    private func useEverything(_ queue: JobQueue, _ client: RedisClient, _ url: RedisURL) async throws {
        let worker = worker(queue, client, url) { context in
            try await context.updateProgress("50")
            try await context.log("row")
            if context.job.name == "fails", context.job.attemptsMade == 0 { throw HandlerFailure() }
            if context.job.name == "moves", context.job.attemptsStarted == 1 {
                throw DelayedJob(until: SystemWallClock().now + .milliseconds(5))
            }
            return "1"
        }
        try await worker.running {
            try await eventually { worker.lastAnsweredClaim != nil }
            _ = try await queue.addBulk([
                NewJob(name: "plain", data: "1"),
                NewJob(name: "late", data: "1", options: JobOptions(delay: .milliseconds(10))),
                NewJob(name: "ranked", data: "1", options: JobOptions(priority: 3)),
                NewJob(name: "moves", data: "1"),
                NewJob(name: "fails", data: "1", options: JobOptions(attempts: 2, removeOnComplete: .removeAtOnce)),
                NewJob(
                    name: "fails",
                    data: "1",
                    options: JobOptions(attempts: 2, backoff: .fixed(.milliseconds(5)))
                ),
                NewJob(name: "fails", data: "1"),
            ])
            try await eventually {
                let counts = try await queue.counts()
                return counts.completed == 5 && counts.failed == 1
            }
        }
        let consumer = JobConsumer(queue: queue, redis: client, blockingURL: url, workerName: "v")
        _ = try await queue.addBulk([NewJob(name: "n", data: "1"), NewJob(name: "n", data: "1")])
        let held = try await consumer.claim(limit: 2).jobs
        #expect(held.count == 2)
        #expect(try await consumer.extend(held.map(\.locked)).isEmpty)
        #expect(try await consumer.move(held.map { MovedJob($0.locked, to: .waiting) }) == [.done, .done])
        _ = try await consumer.recoverStalled()
        try await consumer.maintain()
        try await queue.pause()
        #expect(try await consumer.claim(limit: 2).isPaused)
        try await queue.resume()
        let id = try #require(held.first?.id)
        #expect(try await queue.job(id)?.state == "waiting")
        #expect(try await queue.remove(id) == .removed)
        _ = try await queue.oldestAges()
        _ = try await RedisServerCheck.clockOffset(client, clock: SystemWallClock())
        await consumer.close()
    }
}
