import Foundation
import FoundationNetworking
import JobQueue
import Kernel
import NotificationBus
import NotificationContract
import Notifications
import PostgresClient
import PushSimulator
import RedisClient
import TestSupport
import Testing

/// Servers go away under load, alone and together, and come back (E10, R3).
@Suite(.serialized)
struct OutageTests {
    /// The lines between one worker and its servers.
    private struct Lines {
        let redis: TCPProxy
        let postgres: TCPProxy
        let apns: TCPProxy

        init(_ stage: Stage) throws {
            redis = try TCPProxy(to: stage.redisPort)
            postgres = try TCPProxy(to: stage.postgresPort)
            apns = try TCPProxy(to: stage.simulator.port)
        }

        func environment(_ stage: Stage, _ extra: [String: String] = [:]) -> [String: String] {
            [
                "REDIS_URL": "redis://127.0.0.1:\(redis.port)",
                "DATABASE_URL": stage.database.urlText.replacingOccurrences(
                    of: ":\(stage.postgresPort)/",
                    with: ":\(postgres.port)/"
                ),
                "APNS_PORT": String(apns.port),
            ].merging(extra) { $1 }
        }

        func close() {
            for line in [redis, postgres, apns] { line.close() }
        }
    }

    /// What readiness says, as text.
    private func readiness(_ port: Int) async throws -> String {
        let url = try #require(URL(string: "http://127.0.0.1:\(port)/readyz"))
        let (body, _) = try await URLSession.shared.data(from: url)
        return String(decoding: body, as: UTF8.self)
    }

    /// Processor time of a process so far, in seconds.
    private func processorSeconds(_ process: Int32) throws -> Double {
        let text = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        let fields = try #require(text.split(separator: ")").last).split(separator: " ")
        return (Double(fields[11]) ?? 0) / 100 + (Double(fields[12]) ?? 0) / 100
    }

    @Test func `Redis, PostgreSQL and APNs go away under load, one by one and together; nothing is lost (E10)`()
        async throws
    {
        try await Stage.run { stage in
            let lines = try Lines(stage)
            defer { lines.close() }
            let users = 600
            try await stage.addUsers(users, prefix: stage.userPrefix)
            let port = freePort()
            let worker = try stage.startWorker(
                lines.environment(stage, ["METRICS_LISTEN": "127.0.0.1:\(port)", "MAX_IN_FLIGHT": "64"])
            )
            var ids: [MessageID] = []
            var next = 1
            func enqueue(_ count: Int) async throws {
                let requests = try (next..<next + count).map { try stage.request(stage.user($0)) }
                ids += try await stage.bus.enqueueNotifications(requests).map(\.messageID)
                next += count
            }
            let outages: [(name: String, lines: [TCPProxy])] = [
                ("postgres", [lines.postgres]), ("redis", [lines.redis]), ("apns", [lines.apns]),
                ("postgres", [lines.postgres, lines.redis, lines.apns]),
            ]
            for outage in outages {
                let before = stage.simulator.acceptedCount
                try await enqueue(users / 4)
                try await stage.eventually("some pushes arrived", within: .seconds(90)) {
                    stage.simulator.acceptedCount > before
                }
                for line in outage.lines { line.cut() }
                try await stage.eventually("/readyz names \(outage.name)", within: .seconds(40)) {
                    try await readiness(port).contains(outage.name)
                }
                // Nothing spins while a server is away.
                let start = try processorSeconds(worker.identifier)
                try await Task.sleep(for: .seconds(2))
                let used = try processorSeconds(worker.identifier) - start
                #expect(used < 1, "\(used) s of 2 while \(outage.name) is away")
                for line in outage.lines { line.mend() }
            }
            try await stage.queueAtRest(within: .seconds(180))
            try await stage.eventually("ready again", within: .seconds(40)) {
                try await !readiness(port).contains("does not answer")
            }
            #expect(worker.isRunning)
            let sent = try await stage.count("notification_messages WHERE status = 'sent'")
            #expect(sent == ids.count)
            #expect(Set(stage.simulator.pushes(limit: 100_000).map(\.apnsID)) == Set(ids.map(\.bits)))
            let counts = try await stage.queue.counts()
            #expect(counts.completed == ids.count && counts.failed == 0)
        }
    }

    @Test(arguments: ["postgres", "redis"])
    func `a stop while a server is away keeps its deadline and loses nothing`(server: String) async throws {
        try await Stage.run { stage in
            let lines = try Lines(stage)
            defer { lines.close() }
            try await stage.addUsers(200, prefix: stage.userPrefix)
            stage.simulator.addFault(FaultRule(.accept, delay: .milliseconds(500)))
            let receipts = try await stage.bus.enqueueNotifications((1...200).map { try stage.request(stage.user($0)) })
            let first = try stage.startWorker(lines.environment(stage, ["STOP_DEADLINE": "4s"]))
            try await stage.eventually("jobs are in flight") { try await stage.queue.counts().active >= 100 }
            (server == "redis" ? lines.redis : lines.postgres).cut()
            let began = ContinuousClock.now
            first.send(SIGTERM)
            let code = await first.ended()
            let took = began.duration(to: .now)
            #expect(code == 0 || code == 70)
            // 4 s to stop, 3 s for what is cancelled, and a busy machine.
            #expect(took < .seconds(20))
            stage.simulator.clearFaults()
            try stage.startWorker()
            try await stage.queueAtRest()
            let sent = try await stage.count("notification_messages WHERE status = 'sent'")
            #expect(sent == 200)
            #expect(Set(stage.simulator.pushes(limit: 10_000).map(\.apnsID)) == Set(receipts.map(\.messageID.bits)))
        }
    }

    @Test func `SIGTERM with 2,000 in flight records them all and leaves nothing locked`() async throws {
        try await Stage.run { stage in
            try await stage.addUsers(2000, prefix: stage.userPrefix)
            stage.simulator.addFault(FaultRule(.accept, delay: .seconds(3)))
            _ = try await stage.bus.enqueueNotifications(
                (1...2000).map { try stage.request(stage.user($0), .lifecycle) }
            )
            let first = try stage.startWorker(["QUEUE_LOCK_DURATION": "30s"])
            try await stage.eventually("all are in flight") { try await stage.queue.counts().active == 2000 }
            first.send(SIGTERM)
            let code = await first.ended()
            #expect(code == 0)
            let counts = try await stage.queue.counts()
            #expect(counts.active == 0)
            stage.simulator.clearFaults()
            try stage.startWorker()
            try await stage.queueAtRest()
            let sent = try await stage.count("notification_messages WHERE status = 'sent'")
            #expect(sent == 2000)
            let last = try await stage.queue.counts()
            #expect(last.failed == 0)
        }
    }

    @Test func `a second SIGTERM ends at once, and still loses nothing`() async throws {
        try await Stage.run { stage in
            try await stage.addUsers(300, prefix: stage.userPrefix)
            stage.simulator.addFault(FaultRule(.accept, delay: .seconds(5)))
            let receipts = try await stage.bus.enqueueNotifications((1...300).map { try stage.request(stage.user($0)) })
            let first = try stage.startWorker()
            try await stage.eventually("all are in flight") { try await stage.queue.counts().active == 300 }
            first.send(SIGTERM)
            first.send(SIGTERM)
            let code = await first.ended()
            #expect(code == 70 || code == 0)
            stage.simulator.clearFaults()
            try stage.startWorker()
            try await stage.queueAtRest()
            let sent = try await stage.count("notification_messages WHERE status = 'sent'")
            #expect(sent == 300)
            #expect(Set(stage.simulator.pushes(limit: 10_000).map(\.apnsID)) == Set(receipts.map(\.messageID.bits)))
            let users = (1...300).map { stage.user($0) }
            let uncounted = try await stage.uncountedUsers()
            for (user, slots) in zip(users, try await stage.slots(of: users)) {
                #expect(slots == 1 || uncounted.contains(user))
            }
        }
    }
}
