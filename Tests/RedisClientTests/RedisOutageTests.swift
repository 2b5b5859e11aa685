import Observability
import RedisClient
import TestSupport
import Testing

struct RedisOutageTests {
    @Test func `a late answer fails its call as timeout and the others as lost, and the client goes on`() async throws {
        try await PrivateRedis.run { server in
            let client = RedisClient(url: server.url, telemetry: .silent())
            _ = try await client.send(RedisCommand(["PING"]))
            server.freeze()
            let patient = Task { try await client.send(RedisCommand(["ECHO", "patient"]), timeout: .seconds(30)) }
            let hasty = Task { try await client.send(RedisCommand(["ECHO", "hasty"]), timeout: .milliseconds(100)) }
            let late = await #expect(throws: RedisError.self) { try await hasty.value }
            #expect(late?.code == .timeout)
            #expect(late?.wasSent == true)
            server.resume()
            // The patient call was either written with the hasty one and lost with it, or written after and answered.
            do {
                #expect(try await patient.value.string == "patient")
            } catch {
                let lost = error as? RedisError
                #expect(lost?.code == .connectionLost)
                #expect(lost?.wasSent == true)
            }
            #expect(try await client.send(RedisCommand(["ECHO", "again"])).string == "again")
            await client.close()
        }
    }

    @Test func `calls made while the server is away are answered when it is back`() async throws {
        try await PrivateRedis.run { server in
            let client = RedisClient(
                url: server.url,
                options: .init(commandTimeout: .seconds(20)),
                telemetry: .silent()
            )
            _ = try await client.send(RedisCommand(["SET", "k", "v"]))
            try await server.stop()
            async let waiting = client.send(RedisCommand(["GET", "k"]))
            try await server.start()
            #expect(try await waiting.string == "v")
            await client.close()
        }
    }

    @Test func `a call while the server is away fails at its deadline and is known not to have run`() async throws {
        try await PrivateRedis.run { server in
            let sink = MemorySink()
            let client = RedisClient(url: server.url, telemetry: .silent(sink: sink))
            _ = try await client.send(RedisCommand(["PING"]))
            try await server.kill()
            let error = await #expect(throws: RedisError.self) {
                try await client.send(RedisCommand(["INCR", "n"]), timeout: .milliseconds(150))
            }
            #expect([.notConnected, .connectionLost].contains(error?.code))
            await client.close()
        }
    }

    @Test func `a killed connection is replaced`() async throws {
        try await PrivateRedis.run { server in
            let client = RedisClient(url: server.url, telemetry: .silent())
            let watcher = RedisClient(url: server.url, telemetry: .silent())
            for _ in 0..<20 {
                let id = try await client.send(RedisCommand(["CLIENT", "ID"])).requireInt("CLIENT ID")
                _ = try await watcher.send(RedisCommand(["CLIENT", "KILL", "ID", .integer(Int64(id))]))
                // The loss may be noticed only by the call that is under way.
                var next: Int?
                while next == nil { next = try? await client.send(RedisCommand(["CLIENT", "ID"])).int }
                #expect(next != id)
            }
            let clients = try await watcher.send(RedisCommand(["CLIENT", "LIST"])).requireString("CLIENT LIST")
            #expect(clients.split(separator: "\n").count == 2)
            await client.close()
            await watcher.close()
        }
    }

    @Test func `an address where nobody listens fails at the deadline`() async throws {
        let url = try RedisURL(parsing: "unix:///tmp/no-such-folder/redis.sock")
        let client = RedisClient(url: url, telemetry: .silent())
        let error = await #expect(throws: RedisError.self) {
            try await client.send(RedisCommand(["PING"]), timeout: .milliseconds(60))
        }
        #expect(error?.code == .notConnected)
        #expect(error?.wasSent == false)
        await client.close()
    }
}
