import JobQueue
import Kernel
import Observability
import RedisClient
import TestSupport

/// A queue of a test's own on the shared server, with a clock that stands still.
struct QueueFixture: Sendable {
    static let start = Timestamp(milliseconds: 1_796_077_232_251)

    let redis: TestRedis
    let clock = FixedWallClock(start)
    let queue: JobQueue
    let consumer: JobConsumer
    private let telemetry = Telemetry.silent()

    /// - Parameter wallClock: what the queue goes by instead of the clock that stands still.
    static func run<Value>(
        options: JobConsumer.Options = .init(),
        wallClock: (any WallClock)? = nil,
        _ body: (QueueFixture) async throws -> Value
    ) async throws -> Value {
        try await TestRedis.run { redis in
            let fixture = try QueueFixture(redis: redis, options: options, wallClock: wallClock)
            let result: Result<Value, any Error>
            do { result = .success(try await body(fixture)) } catch { result = .failure(error) }
            await fixture.consumer.close()
            return try result.get()
        }
    }

    init(
        redis: TestRedis,
        options: JobConsumer.Options = .init(),
        wallClock: (any WallClock)? = nil,
        name: String = "q"
    ) throws {
        self.redis = redis
        queue = JobQueue(
            redis: redis.client,
            name: try QueueName(prefix: redis.prefix, name: name),
            clock: wallClock ?? clock,
            telemetry: telemetry
        )
        consumer = JobConsumer(
            queue: queue,
            redis: redis.client,
            blockingURL: redis.url,
            workerName: "w1",
            options: options,
            tokenBase: "token"
        )
    }

    /// A second worker on the same queue.
    func otherConsumer(options: JobConsumer.Options = .init()) -> JobConsumer {
        JobConsumer(
            queue: queue,
            redis: redis.client,
            blockingURL: redis.url,
            workerName: "w2",
            options: options,
            tokenBase: "other"
        )
    }

    // MARK: Looking into Redis

    func command(_ parts: RedisArgument...) async throws -> RedisReply {
        try await redis.client.send(RedisCommand(parts))
    }

    func key(_ suffix: String) -> RedisArgument { .string(queue.name.keyPrefix + suffix) }

    func list(_ suffix: String) async throws -> [String] {
        try await command("LRANGE", key(suffix), 0, -1).requireArray("list").compactMap(\.string)
    }

    func sortedSet(_ suffix: String) async throws -> [String] {
        try await command("ZRANGE", key(suffix), 0, -1).requireArray("zset").compactMap(\.string)
    }

    func score(_ suffix: String, _ member: String) async throws -> Int64? {
        try await command("ZSCORE", key(suffix), .string(member)).integer
    }

    func hash(_ suffix: String) async throws -> [String: String] {
        try await command("HGETALL", key(suffix)).requireFields("hash")
    }

    func exists(_ suffix: String) async throws -> Bool {
        try await command("EXISTS", key(suffix)).int == 1
    }

    /// The events as texts such as `waiting jobId=1 prev=active`.
    func events() async throws -> [String] {
        try await command("XRANGE", key("events"), "-", "+").requireArray("events").map { entry in
            let fields = try entry.requireArray("event")[1].requireArray("event").compactMap(\.string)
            var text = fields[1]
            for index in stride(from: 2, to: fields.count, by: 2) { text += " \(fields[index])=\(fields[index + 1])" }
            return text
        }
    }

    func forgetEvents() async throws {
        _ = try await command("DEL", key("events"))
    }

    /// Adds plain jobs and returns their ids.
    @discardableResult
    func addPlain(_ count: Int) async throws -> [String] {
        try await queue.addBulk((0..<count).map { NewJob(name: "n", data: "{\"i\":\($0)}") }).map(\.id)
    }

    /// What must hold of a queue at rest: every job in one state, nothing locked, nothing active.
    func expectAtRest(jobs: Int) async throws -> Bool {
        let counts = try await queue.counts()
        let locks = try await command("KEYS", key("*:lock")).requireArray("KEYS")
        let stalled = try await command("SCARD", key("stalled")).int
        let total =
            counts.waiting + counts.paused + counts.prioritized + counts.delayed + counts.completed + counts.failed
            + counts.waitingChildren
        return counts.active == 0 && locks.isEmpty && stalled == 0 && total == jobs
    }
}
