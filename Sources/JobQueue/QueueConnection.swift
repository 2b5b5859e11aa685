import Kernel
import RedisClient

/// How the scripts of one queue are called: every one gets the same keys, the key prefix and the time.
struct QueueConnection: Sendable {
    let redis: RedisClient
    let name: QueueName
    let clock: any WallClock
    private let keys: [RedisArgument]
    private let prefix: RedisArgument

    init(redis: RedisClient, name: QueueName, clock: any WallClock) {
        self.redis = redis
        self.name = name
        self.clock = clock
        keys = name.scriptKeys
        prefix = .string(name.keyPrefix)
    }

    func run(
        _ script: RedisScript,
        now: Timestamp? = nil,
        _ arguments: [RedisArgument] = []
    ) async throws(JobQueueError) -> RedisReply {
        let time = RedisArgument.integer((now ?? clock.now).milliseconds)
        return try await translating { () async throws(RedisError) -> RedisReply in
            try await redis.run(script, keys: keys, arguments: [prefix, time] + arguments)
        }
    }

    /// Sends one command that only reads, or changes a single key.
    func send(_ parts: [RedisArgument]) async throws(JobQueueError) -> RedisReply {
        try await translating { () async throws(RedisError) -> RedisReply in
            try await redis.send(RedisCommand(parts))
        }
    }

    /// Sends several such commands in one go; errors of Redis are values among the answers.
    func pipeline(_ commands: [[RedisArgument]]) async throws(JobQueueError) -> [RedisReply] {
        try await translating { () async throws(RedisError) -> [RedisReply] in
            try await redis.pipeline(commands.map { RedisCommand($0) })
        }
    }

    /// Runs `body` and tells its error in the queue's own terms.
    func translating<Value>(
        _ body: () async throws(RedisError) -> Value
    ) async throws(JobQueueError) -> Value {
        do throws(RedisError) {
            return try await body()
        } catch {
            throw JobQueueError(error)
        }
    }
}

extension RedisReply {
    /// Reads an answer, telling its error in the queue's own terms.
    func reading<Value>(
        _ body: (RedisReply) throws(RedisError) -> Value
    ) throws(JobQueueError) -> Value {
        do throws(RedisError) {
            return try body(self)
        } catch {
            throw JobQueueError(error)
        }
    }
}
