import Kernel
import RedisClient

/// What the server needs for the fields and events of a job alone: the commands that every reader of the queue relies on, without
/// lists, checks, eviction or arguments from outside. No script that keeps them can cost less.
struct BareCommands {
    private static let adding = """
        local call, base = redis.call, tonumber(ARGV[1])
        local data = '{"number":1,"text":"' .. string.rep('x', 120) .. '"}'
        for index = 1, 500 do
          local id = tostring(base + index)
          call('HSET', 'bare:' .. id, 'name', 'n', 'data', data, 'opts', '{}', 'timestamp', '1796077232251', 'delay', '0',
            'priority', '0')
          call('XADD', 'bare:events', '*', 'event', 'added', 'jobId', id, 'name', 'n')
          call('XADD', 'bare:events', '*', 'event', 'waiting', 'jobId', id)
        end
        call('XTRIM', 'bare:events', 'MAXLEN', '~', '10000')
        """

    private static let claiming = """
        local call, base = redis.call, tonumber(ARGV[1])
        for index = 1, 250 do
          local id = tostring(base + index)
          local key = 'bare:' .. id
          call('HGET', key, 'ats')
          call('SET', key .. ':lock', 'token', 'PX', '30000', 'NX')
          call('HSET', key, 'processedOn', '1796077232251', 'pb', 'bench', 'ats', '1')
          call('XADD', 'bare:events', '*', 'event', 'active', 'jobId', id, 'prev', 'waiting')
        end
        call('XTRIM', 'bare:events', 'MAXLEN', '~', '10000')
        """

    private static let finishing = """
        local call, base = redis.call, tonumber(ARGV[1])
        local locks, keys = {}, {}
        for index = 1, 250 do
          local id = tostring(base + index)
          local key = 'bare:' .. id
          call('HMGET', key, 'atm', 'opts', 'deid', 'parent')
          call('HSET', key, 'returnvalue', 'null', 'finishedOn', '1796077232251', 'atm', '1')
          call('XADD', 'bare:events', '*', 'event', 'completed', 'jobId', id, 'returnvalue', 'null', 'prev', 'active')
          locks[index] = key .. ':lock'
          keys[index] = key
        end
        call('DEL', unpack(locks))
        call('DEL', unpack(keys))
        call('XTRIM', 'bare:events', 'MAXLEN', '~', '10000')
        """

    let redis: RedisClient
    let server: ThreadTime

    /// The server's time for one job added, and for one claimed and finished.
    func costs(jobs: Int) async throws -> (added: Double, run: Double) {
        let start = server.microseconds
        for base in stride(from: 0, to: jobs, by: 500) { try await run(Self.adding, base) }
        let added = server.microseconds
        for base in stride(from: 0, to: jobs, by: 250) {
            try await run(Self.claiming, base)
            try await run(Self.finishing, base)
        }
        return ((added - start) / Double(jobs), (server.microseconds - added) / Double(jobs))
    }

    private func run(_ script: String, _ base: Int) async throws {
        _ = try await redis.send(RedisCommand(["EVAL", .string(script), 0, .init(base)]))
    }
}
