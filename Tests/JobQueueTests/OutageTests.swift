import JobQueue
import Kernel
import Observability
import RedisClient
import TestSupport
import Testing

/// What a worker meets in bad hours: restarts, cut connections, forgotten scripts, a cluster.
struct OutageTests {
    private func withQueue(
        _ server: PrivateRedis,
        name: QueueName,
        _ body: (JobQueue, JobConsumer, RedisClient) async throws -> Void
    ) async throws {
        let client = RedisClient(
            url: server.url,
            options: .init(commandTimeout: .seconds(20)),
            telemetry: .silent()
        )
        let queue = JobQueue(redis: client, name: name, telemetry: .silent())
        let consumer = JobConsumer(queue: queue, redis: client, blockingURL: server.url, workerName: "w")
        try await body(queue, consumer, client)
        await consumer.close()
        await client.close()
    }

    private func jobs(_ count: Int) -> [NewJob] { (0..<count).map { NewJob(name: "n", data: "\($0)") } }

    @Test func `nothing is lost when Redis restarts while jobs wait and while they are held`() async throws {
        try await PrivateRedis.run { server in
            try await withQueue(server, name: try QueueName(name: "q")) { queue, consumer, _ in
                _ = try await queue.addBulk(jobs(20))
                let held = try await consumer.claim(limit: 5).jobs
                try await server.stop()
                try await server.start()
                let results = try await consumer.finish(
                    held.map { FinishedJob($0.locked, .completed(returnvalue: "1")) }
                )
                #expect(results == Array(repeating: .done, count: 5))
                #expect(try await consumer.claim(limit: 100).jobs.count == 15)
            }
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `a worker that waits when its connection is cut goes on waiting`() async throws {
        try await PrivateRedis.run { server in
            try await withQueue(server, name: try QueueName(name: "q")) { queue, consumer, client in
                for round in 0..<20 {
                    let waiting = Task { await consumer.waitForWork(upTo: .seconds(30), nextDue: nil) }
                    var blocked: Substring?
                    while blocked == nil {
                        try Task.checkCancellation()
                        // The flag, because the last command of a connection that waits no more is BZPOPMIN too.
                        blocked = try await client.send(RedisCommand(["CLIENT", "LIST"])).requireString("LIST")
                            .split(separator: "\n").first { $0.contains(" flags=b") }
                    }
                    let id = try #require(blocked?.split(separator: " ").first?.dropFirst(3))
                    _ = try await client.send(RedisCommand(["CLIENT", "KILL", "ID", .string(String(id))]))
                    await waiting.value
                    _ = try await queue.add(jobs(1)[0])
                    await consumer.waitForWork(upTo: .seconds(30), nextDue: nil)
                    #expect(try await consumer.claim(limit: 5).jobs.map(\.id) == ["\(round + 1)"])
                }
            }
        }
    }

    @Test func `scripts that Redis forgot are sent again`() async throws {
        try await PrivateRedis.run { server in
            try await withQueue(server, name: try QueueName(name: "q")) { queue, consumer, client in
                for _ in 0..<3 {
                    _ = try await queue.add(jobs(1)[0])
                    let held = try await consumer.claim(limit: 1).jobs
                    _ = try await client.send(RedisCommand(["SCRIPT", "FLUSH"]))
                    let results = try await consumer.finish(
                        held.map { FinishedJob($0.locked, .completed(returnvalue: "1")) }
                    )
                    #expect(results == [.done])
                    _ = try await client.send(RedisCommand(["SCRIPT", "FLUSH"]))
                }
            }
        }
    }

    @Test func `with a tag the whole life of a job stays in one slot of a cluster`() async throws {
        let ports = ["--port", "\(freePort())", "--cluster-port", "\(freePort())"]
        try await PrivateRedis.run(settings: ["--cluster-enabled", "yes"] + ports) { server in
            try await withQueue(server, name: try QueueName(prefix: "{bull}", name: "q")) { queue, consumer, client in
                _ = try await client.send(RedisCommand(["CLUSTER", "ADDSLOTSRANGE", 0, 16_383]))
                while try await !client.send(RedisCommand(["CLUSTER", "INFO"])).requireString("INFO")
                    .contains("cluster_state:ok")
                { try await Task.sleep(for: .milliseconds(10)) }
                _ = try await queue.addBulk(
                    jobs(3) + [NewJob(name: "n", data: "1", options: JobOptions(delay: .seconds(60), priority: 3))]
                )
                let held = try await consumer.claim(limit: 3).jobs
                let results = try await consumer.finish([
                    FinishedJob(held[0].locked, .completed(returnvalue: "1")),
                    FinishedJob(held[1].locked, .failed(reason: "no", trace: "t")),
                ])
                #expect(results == [.done, .done])
                #expect(try await consumer.move([MovedJob(held[2].locked, to: .waiting)]) == [.done])
                #expect(try await consumer.recoverStalled().recovered.isEmpty)
                #expect(try await queue.counts() == JobCounts(waiting: 1, delayed: 1, completed: 1, failed: 1))
            }
        }
    }
}
