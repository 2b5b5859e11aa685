import JobQueue
import Kernel
import Observability
import RedisClient
import TestSupport
import Testing

/// A worker in bad hours: it goes on by itself, and nothing is lost (B3, E10).
@Suite(.timeLimit(.minutes(2)), .serialized)
struct WorkerOutageTests {
    /// Without locks that lapse: whatever a lost answer left behind must be found by other means.
    private static let endless = JobConsumer.Options(lockDuration: .seconds(3600), stalledInterval: .seconds(3600))

    private func withWorker(
        _ server: PrivateRedis,
        commandTimeout: Duration = .seconds(5),
        consumer: JobConsumer.Options = endless,
        handler: @escaping JobWorker.Handler,
        _ body: (JobQueue, RedisClient) async throws -> Void
    ) async throws {
        let client = RedisClient(
            url: server.url,
            options: .init(commandTimeout: commandTimeout, label: "worker"),
            telemetry: .silent()
        )
        let other = RedisClient(url: server.url, options: .init(commandTimeout: .seconds(20)), telemetry: .silent())
        let name = try QueueName(name: "q")
        let queue = JobQueue(redis: client, name: name, telemetry: .silent())
        let worker = JobWorker(
            queue: queue,
            redis: client,
            blockingURL: server.url,
            options: .init(name: "w", concurrency: 16, consumer: consumer),
            handler: handler
        )
        try await worker.running {
            try await body(JobQueue(redis: other, name: name, telemetry: .silent()), other)
        }
        await client.close()
        await other.close()
    }

    private func jobs(_ count: Int) -> [NewJob] { (0..<count).map { NewJob(name: "n", data: "\($0)") } }

    private func expectAllDone(_ queue: JobQueue, _ client: RedisClient, _ count: Int) async throws {
        try await eventually { try await queue.counts().completed == count }
        #expect(try await queue.counts() == JobCounts(completed: count))
        let locks = try await client.send(RedisCommand(["KEYS", "*:lock"])).requireArray("KEYS")
        #expect(locks.isEmpty)
    }

    @Test(arguments: [false, true])
    func `a worker goes on after Redis was restarted, idle or at work`(isBusy: Bool) async throws {
        try await PrivateRedis.run { server in
            let gate = Latch()
            try await withWorker(server) { _ in
                if isBusy { await gate.wait() }
                return "null"
            } _: { queue, client in
                if isBusy {
                    _ = try await queue.addBulk(jobs(40))
                    try await eventually { try await queue.counts().active == 16 }
                }
                try await server.kill()
                try await server.start()
                gate.open()
                if !isBusy { _ = try await queue.addBulk(jobs(40)) }
                try await expectAllDone(queue, client, 40)
            }
        }
    }

    @Test func `cutting every connection again and again loses no job and leaks no connection`() async throws {
        try await PrivateRedis.run { server in
            try await withWorker(server) { _ in
                "null"
            } _: { queue, client in
                for round in 0..<50 {
                    _ = try await queue.addBulk(jobs(20))
                    _ = try await client.send(RedisCommand(["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]))
                    if round % 5 == 0 { try await eventually { try await queue.counts().completed > round * 10 } }
                }
                try await expectAllDone(queue, client, 1000)
                let clients = try await client.send(RedisCommand(["CLIENT", "LIST"])).requireString("LIST")
                // The worker's two and the one that asks.
                #expect(clients.split(separator: "\n").count <= 3)
            }
        }
    }

    @Test func `scripts that are forgotten under load are sent again`() async throws {
        try await PrivateRedis.run { server in
            try await withWorker(server) { _ in
                "null"
            } _: { queue, client in
                for _ in 0..<50 {
                    _ = try await queue.addBulk(jobs(20))
                    _ = try await client.send(RedisCommand(["SCRIPT", "FLUSH"]))
                }
                try await expectAllDone(queue, client, 1000)
            }
        }
    }

    @Test func `a server that stands still and comes back finds the worker waiting`() async throws {
        try await PrivateRedis.run { server in
            // Calls give up long before the server answers again.
            try await withWorker(server, commandTimeout: .milliseconds(400)) { _ in
                try await Task.sleep(for: .milliseconds(1))
                return "null"
            } _: { queue, client in
                for _ in 0..<3 {
                    _ = try await queue.addBulk(jobs(200))
                    server.freeze()
                    try await Task.sleep(for: .milliseconds(1200))
                    server.resume()
                }
                try await expectAllDone(queue, client, 600)
            }
        }
    }

    @Test func `an idle worker asks at most once a second`() async throws {
        try await PrivateRedis.run { server in
            try await withWorker(server) { _ in
                "null"
            } _: { _, client in
                func calls(_ command: String) async throws -> Int {
                    let info = try await client.send(RedisCommand(["INFO", "commandstats"])).requireString("INFO")
                    guard
                        let line = info.split(whereSeparator: \.isNewline).first(where: {
                            $0.hasPrefix("cmdstat_\(command):calls=")
                        })
                    else { return 0 }
                    return Int(line.split(separator: "=")[1].prefix { $0.isNumber }) ?? 0
                }
                try await eventually { try await calls("bzpopmin") == 1 }
                let start = ContinuousClock.now
                let before = try await calls("evalsha")
                try await eventually { try await calls("bzpopmin") >= 3 }
                // Two waits of two seconds, with one claim after each.
                #expect(start.duration(to: .now) > .seconds(3.5))
                #expect(try await calls("evalsha") - before <= 3)
            }
        }
    }
}
