import Foundation
import JobQueue
import Kernel
import NotificationBus
import NotificationContract
import Notifications
import PostgresClient
import RedisClient
import TestSupport
import Testing

/// The operators' tool, as an operator runs it.
struct VarselCtlTests {
    private func run(_ stage: Stage, _ arguments: [String], _ extra: [String: String] = [:]) async throws -> (
        code: Int32, output: String
    ) {
        let process = try ServiceProcess(
            "varselctl",
            arguments: arguments,
            environment: stage.environment(extra),
            folder: stage.folder
        )
        let code = await process.ended()
        return (code, process.output)
    }

    @Test func `explain tells why a user got nothing (E8)`() async throws {
        try await Stage.run { stage in
            try await stage.addUsers(1, prefix: stage.userPrefix, granted: false)
            let receipt = try await stage.bus.enqueueNotification(stage.request(stage.user(1), .lifecycle))
            try stage.startWorker()
            try await stage.queueAtRest()
            let byMessage = try await run(stage, ["explain", receipt.messageID.description])
            #expect(byMessage.code == 0)
            #expect(byMessage.output.contains("suppressed gate=permission reason=permission"))
            let byUser = try await run(stage, ["explain", stage.user(1), "--limit", "5"])
            #expect(byUser.code == 0)
            #expect(byUser.output.contains("message \(receipt.messageID)"))
            let unknown = try await run(stage, ["explain", "nobody"])
            #expect(unknown.code == 1)
            #expect(unknown.output.contains("no message for user nobody"))
        }
    }

    @Test func `migrate is harmless when there is nothing to do, maintain says what it did (O3)`() async throws {
        try await Stage.run { stage in
            let migrated = try await run(stage, ["migrate"])
            #expect(migrated.code == 0)
            #expect(migrated.output.contains("the schema is up to date"))
            let maintained = try await run(stage, ["maintain"])
            #expect(maintained.code == 0)
            #expect(maintained.output.contains("partitions made: 0"))
        }
    }

    @Test func `config check asks the services and fails when one would not start`() async throws {
        try await Stage.run { stage in
            let good = try await run(stage, ["config", "check", "delivery-worker"])
            #expect(good.code == 0)
            #expect(good.output.contains("APNS_TEAM_ID="))
            let bad = try await run(stage, ["config", "check"], ["APNS_KEY_FILE": "/nowhere.p8"])
            #expect(bad.code == 78)
            #expect(bad.output.contains("APNS_KEY_FILE"))
        }
    }

    @Test func `queue tells what is there, names damage and repairs ghosts (B3)`() async throws {
        try await Stage.run { stage in
            for _ in 0..<2 { _ = try await stage.bus.enqueueNotification(stage.request(stage.user(1), .lifecycle)) }
            let paused = try await run(stage, ["queue", "pause"])
            #expect(paused.code == 0)
            let stats = try await run(stage, ["queue", "stats"])
            #expect(stats.code == 0)
            #expect(stats.output.contains("waiting 2"))
            #expect(stats.output.contains("paused: yes"))
            let resumed = try await run(stage, ["queue", "resume"])
            #expect(resumed.code == 0)
            let clean = try await run(stage, ["queue", "check"])
            #expect(clean.code == 0)
            #expect(clean.output.contains("nothing is wrong"))
            let queue = stage.queue
            _ = try await stage.redis.client.send(
                RedisCommand(["LPUSH", .string(queue.name.keyPrefix + "wait"), "ghost"])
            )
            let damaged = try await run(stage, ["queue", "check"])
            #expect(damaged.code == 1)
            #expect(damaged.output.contains("ghost in wait"))
            let repaired = try await run(stage, ["queue", "check", "--repair-ghosts"])
            #expect(repaired.code == 0)
            #expect(repaired.output.contains("taken out: 1"))
            let retried = try await run(stage, ["queue", "retry-failed"])
            #expect(retried.output.contains("jobs that run again: 0"))
        }
    }

    @Test(arguments: [
        [], ["frobnicate"], ["queue"], ["queue", "check", "--repair"], ["migrate", "now"], ["explain"],
        ["explain", "x", "--limit", "0"], ["config"],
    ])
    func `a wrong command line shows the usage and ends with 64`(arguments: [String]) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("varsel-ctl-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let process = try ServiceProcess("varselctl", arguments: arguments, environment: [:], folder: folder)
        let code = await process.ended()
        #expect(code == 64)
        #expect(process.output.contains("usage:"))
    }

    @Test func `a service refuses a database of another schema and names the command`() async throws {
        try await Stage.run { stage in
            _ = try await stage.database.pool.query("UPDATE schema_migrations SET version = version + 1000")
            let worker = try stage.startWorker()
            let code = await worker.ended()
            #expect(code == 78)
            #expect(worker.output.contains("newer build"))
            _ = try await stage.database.pool.query("DELETE FROM schema_migrations")
            let behind = try stage.startWorker()
            let second = await behind.ended()
            #expect(second == 78)
            #expect(behind.output.contains("varselctl migrate"))
        }
    }

    @Test func `a worker refuses a database that serves another queue`() async throws {
        try await Stage.run { stage in
            _ = try await stage.database.pool.query(
                "INSERT INTO deployment (queue_prefix, queue_name) VALUES ('elsewhere', 'notification-deliver')"
            )
            let worker = try stage.startWorker()
            let code = await worker.ended()
            #expect(code == 78)
            #expect(worker.output.contains("elsewhere:notification-deliver"))
        }
    }
}
