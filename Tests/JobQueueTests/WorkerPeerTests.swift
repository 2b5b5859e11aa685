import Foundation
import JobQueue
import Kernel
import RedisClient
import TestSupport
import Testing

/// B3: our worker on a queue that BullMQ's Python clients fill and read, and both at work on the same queue.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct WorkerPeerTests {
    private static let data: JSONValue = [
        "text": "ünï", "nested": ["a": [1, "x", nil, false], "empty": []], "big": 123_456_789_012,
    ]

    private func jobs(_ count: Int, _ options: JSONValue) -> JSONValue {
        .array((0..<count).map { ["n", ["i": .integer(Int64($0))], options] })
    }

    @Test(arguments: Peer.all)
    func `the handler gets the peer's data, and the peer reads how the job ended`(peer: Peer) async throws {
        try await QueueFixture.live { fixture in
            try await peer.run("add", [["n", Self.data, [:]]], on: fixture)
            let seen = Record<String>()
            try await fixture.working(.single) { context in
                seen.add(context.job.data)
                return #"{"ok":true}"#
            } _: { _ in
                try await fixture.eventually(\.completed, 1)
            }
            #expect(try seen.all.map { try JSONValue(parsing: $0) } == [Self.data])
            let job = try await peer.run("job", "1", on: fixture)
            #expect(job["state"] == "completed")
            #expect(job["returnvalue"] == ["ok": true])
            #expect(job["attemptsMade"] == 1)
            if peer.version == "3.4.4" { #expect(job["attemptsStarted"] == 1) }
            let times = ["timestamp", "processedOn", "finishedOn"].map { job[$0]?.integerValue ?? 0 }
            #expect(times == times.sorted())
        }
    }

    @Test(arguments: Peer.all)
    func `a thousand of the peer's jobs run once each in the order of the line`(peer: Peer) async throws {
        try await QueueFixture.live { fixture in
            let ids = try await peer.run("add_bulk", jobs(1000, [:]), on: fixture)
            let seen = Record<String>()
            try await fixture.working(.single) { context in
                seen.add(context.job.id)
                return "null"
            } _: { _ in
                try await fixture.eventually(\.completed, 1000)
            }
            #expect(seen.all == ids.arrayValue?.compactMap(\.stringValue))
        }
    }

    @Test(arguments: Peer.all)
    func `plain before prioritized, lower numbers first, the last in first out before all`(peer: Peer) async throws {
        try await QueueFixture.live { fixture in
            try await peer.run(
                "add",
                [
                    ["five", [:], ["priority": 5]], ["five again", [:], ["priority": 5]],
                    ["one", [:], ["priority": 1]],
                    ["plain", [:], [:]], ["first", [:], ["lifo": true]],
                ],
                on: fixture
            )
            let seen = Record<String>()
            // One at a time, because a group leaves places for prioritized jobs.
            try await fixture.working(JobWorker.Options(name: "w", concurrency: 1, claimGroup: 1)) { context in
                seen.add(context.job.name)
                return "null"
            } _: { _ in
                try await fixture.eventually(\.completed, 5)
            }
            #expect(seen.all == ["first", "plain", "one", "five", "five again"])
        }
    }

    @Test(arguments: Peer.all)
    func `delayed jobs wait for their time, and those of one moment keep their order`(peer: Peer) async throws {
        try await QueueFixture.live { fixture in
            let made = Int64(Date().timeIntervalSince1970 * 1000)
            let ids = try await peer.run(
                "add_bulk",
                jobs(100, ["delay": 4000, "timestamp": .integer(made)]),
                on: fixture
            )
            #expect(try await fixture.queue.counts().delayed == 100)
            let seen = Record<String>()
            try await fixture.working(.single) { context in
                seen.add(context.job.id)
                return "null"
            } _: { _ in
                try await fixture.eventually(\.completed, 100)
            }
            #expect(seen.all == ids.arrayValue?.compactMap(\.stringValue))
            let hash = try await fixture.hash(seen.all[0])
            #expect(hash["delay"] == "0")
            #expect(try #require(hash["processedOn"].flatMap { Int64($0) }) >= made + 4000)
            #expect(try JSONValue(parsing: hash["opts"] ?? "")["delay"]?.integerValue == 4000)
        }
    }

    /// Fixed and exponential backoff, no backoff, and a failure that no attempt mends.
    @Test(arguments: Peer.all)
    func `failed attempts are repeated as the peer's options say`(peer: Peer) async throws {
        try await QueueFixture.live { fixture in
            try await peer.run(
                "add",
                [
                    ["fixed", [:], ["attempts": 3, "backoff": ["type": "fixed", "delay": 120]]],
                    ["exponential", [:], ["attempts": 4, "backoff": ["type": "exponential", "delay": 40]]],
                    ["hopeless", [:], ["attempts": 5]],
                ],
                on: fixture
            )
            let starts = Record<(String, Int64)>()
            try await fixture.working { context in
                starts.add((context.job.name, Timestamp(millisecondsOf: Date()).milliseconds))
                switch context.job.name {
                case "fixed": if context.job.attemptsMade < 2 { throw HandlerFailure() }
                case "exponential": throw HandlerFailure()
                default: throw UnrecoverableFailure("no use")
                }
                return "null"
            } _: { _ in
                try await fixture.eventually(\.failed, 2)
                try await fixture.eventually(\.completed, 1)
            }
            func gaps(_ name: String) -> [Int64] {
                let times = starts.all.filter { $0.0 == name }.map(\.1)
                return zip(times.dropFirst(), times).map { $0 - $1 }
            }
            // A wait may be longer on a busy machine, never shorter.
            #expect(zip(gaps("fixed"), [120, 120]).allSatisfy { $0 >= $1 - 1 } && gaps("fixed").count == 2)
            #expect(zip(gaps("exponential"), [40, 80, 160]).allSatisfy { $0 >= $1 - 1 })
            #expect(gaps("exponential").count == 3)
            let fixed = try await peer.run("job", "1", on: fixture)
            #expect(fixed["state"] == "completed")
            #expect(fixed["attemptsMade"] == 3)
            #expect(fixed["stacktrace"]?.arrayValue?.count == 2)
            let hopeless = try await fixture.hash("3")
            #expect(hopeless["atm"] == "1")
            #expect(hopeless["failedReason"] == "no use")
            let events = try await fixture.events()
            #expect(events.filter { $0.hasPrefix("retries-exhausted") } == ["retries-exhausted jobId=2 attemptsMade=4"])
        }
    }

    @Test(arguments: Peer.all)
    func `an attempt without backoff runs again behind what waits`(peer: Peer) async throws {
        try await QueueFixture.live { fixture in
            try await peer.run("add", [["a", [:], ["attempts": 2]], ["b", [:], [:]]], on: fixture)
            let seen = Record<String>()
            try await fixture.working(.single) { context in
                seen.add(context.job.name)
                if context.job.attemptsStarted == 1, context.job.name == "a" { throw HandlerFailure() }
                return "null"
            } _: { _ in
                try await fixture.eventually(\.completed, 2)
            }
            #expect(seen.all == ["a", "b", "a"])
        }
    }

    @Test(arguments: Peer.all)
    func `finished jobs stay as long as the peer's options say`(peer: Peer) async throws {
        try await QueueFixture.live { fixture in
            try await peer.run("add", jobs(5, ["removeOnComplete": 2]), on: fixture)
            try await peer.run("add", jobs(1, ["removeOnComplete": true]), on: fixture)
            _ = try await fixture.queue.log("6", "a row")
            try await fixture.working(.single) { _ in
                "null"
            } _: { _ in
                try await eventually { try await fixture.events().contains { $0.hasPrefix("completed jobId=6") } }
                try await eventually { try await fixture.queue.counts().active == 0 }
            }
            #expect(try await fixture.sortedSet("completed") == ["4", "5"])
            for key in ["1", "3", "6", "6:logs"] { #expect(try await !fixture.exists(key), "\(key)") }
        }
    }

    @Test func `the queue's own limits bound how many run and how many start`() async throws {
        try await QueueFixture.live { fixture in
            try await fixture.queue.setGlobalConcurrency(2)
            try await fixture.addPlain(20)
            let most = Record<Int>()
            try await fixture.working(JobWorker.Options(name: "w", concurrency: 10)) { _ in
                most.add(try await fixture.queue.counts().active)
                return "null"
            } _: { _ in
                try await fixture.eventually(\.completed, 20)
            }
            #expect(most.all.max() ?? 0 <= 2)

            try await fixture.queue.setGlobalConcurrency(nil)
            // No window ends by itself during the test: each begins when it is cleared.
            try await fixture.queue.setGlobalRateLimit(QueueRateLimit(max: 5, duration: .seconds(300)))
            try await fixture.addPlain(15)
            try await fixture.working(JobWorker.Options(name: "w", concurrency: 10)) { _ in
                "null"
            } _: { _ in
                for completed in [25, 30] {
                    try await fixture.eventually(\.completed, completed)
                    #expect(try await fixture.queue.limitedFor() != nil)
                    #expect(try await fixture.queue.counts().waiting == 35 - completed)
                    try await fixture.queue.clearRateLimitWindow()
                }
                try await fixture.eventually(\.completed, 35)
            }
        }
    }

    @Test func `ten thousand of our jobs are run by the peer, each once`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(10_000)
            let done = try await Peer.all[0].run(
                "work",
                ["count": 10_000, "concurrency": 50, "seconds": 55],
                on: fixture
            )
            let ids = (done.arrayValue ?? []).compactMap(\.stringValue)
            #expect(ids.count == 10_000)
            #expect(Set(ids).count == 10_000)
        }
    }

    @Test(arguments: Peer.all)
    func `a job that fails at the peer is finished by us`(peer: Peer) async throws {
        try await QueueFixture.live { fixture in
            _ = try await fixture.queue.add(NewJob(name: "n", data: "{}", options: JobOptions(attempts: 2)))
            // The peer's worker may take it a second time before it closes; the third attempt is always ours.
            _ = try await fixture.command(
                "HSET",
                fixture.key("1"),
                "opts",
                #"{"attempts":5,"backoff":{"type":"fixed","delay":500}}"#
            )
            let failed = try await peer.run("until_failed", on: fixture)
            #expect(failed.arrayValue?.first == "1")
            try await fixture.working(.single) { _ in
                "\"ours\""
            } _: { _ in
                try await fixture.eventually(\.completed, 1)
            }
            let hash = try await fixture.hash("1")
            #expect(hash["returnvalue"] == "\"ours\"")
            #expect(hash["atm"] == hash["ats"])
            #expect(try await fixture.expectAtRest(jobs: 1))
        }
    }

    @Test(arguments: Peer.all)
    func `a job that stalled too often is failed by the peer without being run`(peer: Peer) async throws {
        let options = JobConsumer.Options(maxStalledCount: 1)
        try await QueueFixture.run(options: options) { fixture in
            try await fixture.addPlain(1)
            for _ in 0..<2 {
                #expect(try await fixture.consumer.claim(limit: 1).jobs.count == 1)
                _ = try await fixture.command("DEL", fixture.key("1:lock"), fixture.key("stalled-check"))
                fixture.clock.advance(by: .seconds(60))
                #expect(try await fixture.consumer.recoverStalled().recovered == ["1"])
            }
            let failed = try await peer.run("until_failed", on: fixture)
            #expect(failed == ["1", "job stalled more than allowable limit"])
            #expect(try await fixture.queue.job("1")?.state == "failed")
        }
    }

    @Test(arguments: Peer.all)
    func `the peer cannot end a job that is ours`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(2)
            let job = try #require(try await fixture.consumer.claim(limit: 1).jobs.first)
            func answer(_ id: String, _ token: String) async throws -> String {
                try await peer.run("finish", ["id": .string(id), "token": .string(token)], on: fixture).stringValue
                    ?? ""
            }
            #expect(try await answer("1", "wrong").contains("Lock mismatch"))
            #expect(try await fixture.consumer.extend([job.locked]).isEmpty, "the lock is untouched")
            #expect(try await answer("2", "0").contains("not in the active state"))
            _ = try await fixture.command("DEL", fixture.key("1:lock"))
            #expect(try await answer("1", job.token).contains("Missing lock"))
            _ = try await fixture.command("DEL", fixture.key("1"))
            #expect(try await answer("1", job.token).contains("Missing key"))
        }
    }

    /// Five workers of three kinds on one queue: what ran, what was counted and what ended agree.
    @Test func `workers of all kinds share a queue, failures included`() async throws {
        try await QueueFixture.live { fixture in
            let count = 10_000
            _ = try await fixture.queue.addBulk(
                (0..<count).map { _ in
                    NewJob(
                        name: "n",
                        data: "{}",
                        options: JobOptions(attempts: 3, removeOnComplete: .keepAll, removeOnFail: .keepAll)
                    )
                }
            )
            let runs = Record<String>()
            let handler: JobWorker.Handler = { context in
                let number = runs.add(context.job.id)
                try await Task.sleep(for: .milliseconds(20))
                if number.isMultiple(of: 3) { throw HandlerFailure() }
                return "\"ours\""
            }
            let peers = try await withThrowingTaskGroup { group in
                for peer in Peer.all { group.addTask { try await peer.run("churn", on: fixture) } }
                // The peers take seconds to start; ours would be through by then.
                try await eventually { try await fixture.queue.counts().active > 0 }
                try await fixture.working(.init(name: "a", concurrency: 5), handler: handler) { _ in
                    try await fixture.working(.init(name: "b", concurrency: 5), handler: handler) { _ in
                        try await fixture.working(.init(name: "c", concurrency: 5), handler: handler) { _ in
                            try await eventually {
                                let counts = try await fixture.queue.counts()
                                return counts.completed + counts.failed == count
                            }
                        }
                    }
                }
                return try await group.reduce(into: [String]()) {
                    $0 += ($1.arrayValue ?? []).compactMap(\.stringValue)
                }
            }
            #expect(!peers.isEmpty && runs.count > 0, "each kind had its part")
            let ran = Dictionary(grouping: runs.all + peers) { $0 }.mapValues(\.count)
            #expect(ran.count == count)
            for (id, times) in ran {
                let hash = try await fixture.hash(id)
                #expect(hash["ats"] == String(times))
                #expect(hash["atm"] == String(times))
            }
            #expect(try await fixture.expectAtRest(jobs: count))
        }
    }

    @Test(arguments: [5, -5])
    func `delayed jobs run by the clock of whoever takes them`(skew: Int) async throws {
        try await QueueFixture.run { fixture in
            let now = Timestamp(millisecondsOf: Date())
            fixture.clock.advance(by: now - QueueFixture.start)
            try await Peer.all[0].run("add", [["n", [:], ["delay": 120_000]], ["now", [:], [:]]], on: fixture)
            fixture.clock.advance(by: .seconds(120 + 30 * skew))
            let jobs = try await fixture.consumer.claim(limit: 5).jobs
            #expect(jobs.map(\.name).sorted() == (skew > 0 ? ["n", "now"] : ["now"]))
            let results = try await fixture.consumer.finish(
                jobs.map { FinishedJob($0.locked, .completed(returnvalue: "null")) }
            )
            #expect(results.allSatisfy { $0 == .done })
        }
    }

    @Test func `the stream of events stays bounded`() async throws {
        try await QueueFixture.run { fixture in
            for _ in 0..<50 { try await fixture.addPlain(500) }
            #expect(try await fixture.command("XLEN", fixture.key("events")).requireInt("XLEN") <= 11_000)
        }
    }
}

extension Timestamp {
    fileprivate init(millisecondsOf date: Date) {
        self.init(milliseconds: Int64(date.timeIntervalSince1970 * 1000))
    }
}
