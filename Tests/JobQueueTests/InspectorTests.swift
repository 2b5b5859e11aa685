import JobQueue
import Kernel
import Observability
import RedisClient
import TestSupport
import Testing

/// The checker of a queue's keys (B3).
struct InspectorTests {
    @Test func `a healthy queue with everything in it is clean`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(1200)
            let jobs = try await fixture.consumer.claim(limit: 3).jobs
            _ = try await fixture.consumer.finish([
                FinishedJob(jobs[0].locked, .completed(returnvalue: "1")),
                FinishedJob(jobs[1].locked, .failed(reason: "no")),
            ])
            _ = try await fixture.queue.log("1", "row")
            _ = try await fixture.queue.addBulk([
                NewJob(name: "n", data: "1", options: JobOptions(priority: 4, deduplication: Deduplication(id: "d"))),
                NewJob(name: "n", data: "1", options: JobOptions(delay: .seconds(900))),
            ])
            _ = try await fixture.queue.addFlow(
                FlowJob(NewJob(name: "p", data: "1"), children: [FlowJob(NewJob(name: "c", data: "1"))])
            )
            _ = try await fixture.queue.upsertScheduler(
                "s",
                Schedule(.every(.seconds(9))),
                job: NewJob(name: "n", data: "1")
            )
            let report = try await QueueInspector(queue: fixture.queue).run()
            #expect(report.isClean, "\(report.text)")
            #expect(report.idsSeen == 1205)
            #expect(!report.truncated)
            #expect(report.counts == (try await fixture.queue.counts()))
            #expect(report.text.hasSuffix("nothing is wrong"))
        }
    }

    @Test(arguments: ["{q}", "a[b]*?", "q{x}y"])
    func `a name with braces or signs of patterns works like any other`(name: String) async throws {
        try await TestRedis.run { redis in
            let queue = JobQueue(
                redis: redis.client,
                name: try QueueName(prefix: redis.prefix, name: name),
                telemetry: Telemetry.silent()
            )
            _ = try await queue.add(
                NewJob(name: "n", data: "1", options: JobOptions(deduplication: Deduplication(id: "d")))
            )
            _ = try await queue.addFlow(
                FlowJob(NewJob(name: "p", data: "1"), children: [FlowJob(NewJob(name: "c", data: "1"))])
            )
            _ = try await queue.upsertScheduler(
                "s",
                Schedule(.every(.seconds(9))),
                job: NewJob(name: "n", data: "1")
            )
            let report = try await QueueInspector(queue: queue).run()
            #expect(report.isClean, "\(report.text)")
            #expect(report.idsSeen == 4)
            try await queue.pause()
            try await queue.obliterate()
            let left = try await QueueInspector(queue: queue).run()
            #expect(left.keysSeen == 0)
        }
    }

    @Test func `each kind of damage is named`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(4)
            _ = try await fixture.command("DEL", fixture.key("1"))
            _ = try await fixture.command("LREM", fixture.key("wait"), 0, "2")
            _ = try await fixture.command("ZADD", fixture.key("delayed"), 5, "3")
            _ = try await fixture.command("LPUSH", fixture.key("wait"), "4")
            _ = try await fixture.command("SET", fixture.key("4:lock"), "token")
            _ = try await fixture.command("RPUSH", fixture.key("lost:logs"), "row")
            _ = try await fixture.command("SET", fixture.key("de:d"), "lost")
            _ = try await fixture.command("SET", fixture.key("de:timed"), "lost", "PX", 60_000)
            _ = try await fixture.command("HSET", fixture.key("repeat:s"), "name", "n")
            let report = try await QueueInspector(queue: fixture.queue).run()
            #expect(report.ghosts == [.init(id: "1", states: ["wait"])])
            #expect(report.orphans == ["2"])
            #expect(
                report.doubled == [
                    .init(id: "3", states: ["delayed", "wait"]), .init(id: "4", states: ["wait", "wait"]),
                ]
            )
            #expect(report.strayLocks == ["4"])
            #expect(report.leftovers == ["lost"])
            #expect(report.staleDeduplication == ["d"])
            #expect(report.brokenSchedulers == ["s"])
            #expect(!report.isClean)
            #expect(report.text.contains("jobs in no state: 1\n  2"))
        }
    }

    @Test func `ghosts are taken out when asked, and only they`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(3)
            for id in ["1", "3"] { _ = try await fixture.command("DEL", fixture.key(id)) }
            // What a client of BullMQ makes of a ghost that it takes.
            _ = try await fixture.command("HSET", fixture.key("3"), "ats", 1)
            _ = try await fixture.command("ZADD", fixture.key("failed"), 5, "gone")
            let first = try await QueueInspector(queue: fixture.queue).run()
            #expect(first.ghosts.map(\.id) == ["1", "3", "gone"])
            #expect(first.repaired == 0)
            let second = try await QueueInspector(queue: fixture.queue).run(repairGhosts: true)
            #expect(second.repaired == 3)
            #expect(second.isClean)
            #expect(try await fixture.list("wait") == ["2"])
            let third = try await QueueInspector(queue: fixture.queue).run()
            #expect(third.ghosts.isEmpty)
            #expect(third.isClean)
        }
    }

    @Test func `a queue that moves while it is read is not slandered`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(500)
            async let inspected: QueueReport = {
                var worst = QueueReport()
                for _ in 0..<5 {
                    let report = try await QueueInspector(queue: fixture.queue).run()
                    if !report.isClean { worst = report }
                }
                return worst
            }()
            for _ in 0..<50 {
                try await fixture.addPlain(10)
                let jobs = try await fixture.consumer.claim(limit: 20).jobs
                _ = try await fixture.consumer.finish(
                    jobs.map { FinishedJob($0.locked, .completed(returnvalue: "1")) }
                )
            }
            let report = try await inspected
            #expect(report.isClean, "\(report.text)")
        }
    }

    @Test func `what is beyond the limits is said`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(50)
            #expect(try await QueueInspector(queue: fixture.queue, limit: 10).run().truncated)
            for id in 1...50 { _ = try await fixture.command("DEL", fixture.key("\(id)")) }
            let report = try await QueueInspector(queue: fixture.queue, suspectLimit: 20).run()
            #expect(report.truncated)
            #expect(report.ghosts.count == 20)
        }
    }
}
