import Observability
import RedisClient
import TestSupport
import Testing

struct RedisClientTests {
    @Test func `every kind of answer arrives as it was sent`() async throws {
        try await TestRedis.run { redis in
            let key = RedisArgument("\(redis.prefix):bytes")
            let bytes: [UInt8] = [0, 255, 13, 10, 36]
            let replies = try await redis.client.pipeline([
                RedisCommand(["SET", key, .bytes(bytes)]),
                RedisCommand(["GET", key]),
                RedisCommand(["GET", "\(redis.prefix):none"]),
                RedisCommand(["STRLEN", key]),
                RedisCommand(["LPUSH", key, "x"]),
                RedisCommand(["MGET", key, "\(redis.prefix):none"]),
            ])
            #expect(replies[0] == .status("OK"))
            #expect(replies[1] == .bulk(bytes))
            #expect(replies[2] == .null)
            #expect(replies[3] == .integer(5))
            guard case .error(let message) = replies[4] else {
                Issue.record("LPUSH on a string is an error")
                return
            }
            #expect(message.hasPrefix("WRONGTYPE"))
            #expect(replies[5] == .array([.bulk(bytes), .null]))
        }
    }

    @Test func `calls of many tasks each get their own answer`() async throws {
        try await TestRedis.run { redis in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<500 {
                    group.addTask {
                        let reply = try await redis.client.send(RedisCommand(["ECHO", "\(number)"]))
                        #expect(reply.int == number)
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func `an error of Redis is thrown by send, and the connection stays`() async throws {
        try await TestRedis.run { redis in
            let id = try await redis.client.send(RedisCommand(["CLIENT", "ID"]))
            let error = await #expect(throws: RedisError.self) {
                try await redis.client.send(RedisCommand(["NOSUCHCOMMAND"]))
            }
            #expect(error?.serverCode == "ERR")
            #expect(try await redis.client.send(RedisCommand(["CLIENT", "ID"])) == id)
        }
    }

    @Test func `a large answer and a large command pass`() async throws {
        try await TestRedis.run { redis in
            let value = [UInt8](repeating: 7, count: 5_000_000)
            let key = RedisArgument("\(redis.prefix):large")
            _ = try await redis.client.send(RedisCommand(["SET", key, .bytes(value)]))
            #expect(try await redis.client.send(RedisCommand(["GET", key])) == .bulk(value))
        }
    }

    @Test func `name, user, password and database are set on the connection`() async throws {
        try await PrivateRedis.run(settings: ["--requirepass", "secret"]) { server in
            guard case .unix(let path) = server.url.address else { return }
            let url = RedisURL(address: .unix(path: path), user: "default", password: "secret", database: 3)
            let client = RedisClient(url: url, options: .init(connectionName: "bull:x:w:1"), telemetry: .silent())
            let info = try await client.send(RedisCommand(["CLIENT", "INFO"])).requireString("CLIENT INFO")
            #expect(info.contains(" name=bull:x:w:1 "))
            #expect(info.contains(" db=3 "))
            await client.close()
        }
    }

    @Test func `a wrong password is told within the call's deadline`() async throws {
        try await PrivateRedis.run(settings: ["--requirepass", "secret"]) { server in
            guard case .unix(let path) = server.url.address else { return }
            let url = RedisURL(address: .unix(path: path), password: "wrong")
            let client = RedisClient(
                url: url,
                options: .init(commandTimeout: .milliseconds(200)),
                telemetry: .silent()
            )
            let error = await #expect(throws: RedisError.self) { try await client.send(RedisCommand(["PING"])) }
            #expect(error?.code == .notConnected)
            #expect(error?.wasSent == false)
            #expect(error?.message.contains("WRONGPASS") == true)
            #expect(error?.description.contains("wrong") == false)
            await client.close()
        }
    }

    @Test func `more calls than allowed are refused at once`() async throws {
        try await PrivateRedis.run { server in
            let client = RedisClient(url: server.url, options: .init(maxOutstandingCalls: 1), telemetry: .silent())
            let blocked = Task {
                try await client.send(RedisCommand(["BLPOP", "nothing", "0"]), timeout: .seconds(30))
            }
            let watcher = RedisClient(url: server.url, telemetry: .silent())
            while try await watcher.send(RedisCommand(["INFO", "clients"])).requireString("INFO")
                .contains("blocked_clients:0")
            { await Task.yield() }
            let error = await #expect(throws: RedisError.self) { try await client.send(RedisCommand(["PING"])) }
            #expect(error?.code == .overloaded)
            await client.close()
            let closed = await #expect(throws: RedisError.self) { try await blocked.value }
            #expect(closed?.code == .closed)
            #expect(closed?.wasSent == true)
            await watcher.close()
        }
    }

    @Test func `after closing, calls are refused`() async throws {
        let redis = try TestRedis()
        await redis.client.close()
        let error = await #expect(throws: RedisError.self) { try await redis.client.send(RedisCommand(["PING"])) }
        #expect(error?.code == .closed)
        await redis.client.close()
    }
}
