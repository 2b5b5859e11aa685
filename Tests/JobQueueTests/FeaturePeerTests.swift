import Foundation
import JobQueue
import Kernel
import RedisClient
import TestSupport
import Testing

/// Deduplication, flows, schedulers, administration and events together with BullMQ's Python clients, in both directions (B3).
/// The numbers are those of the wire contract's conformance checks.
@Suite(.serialized)
struct FeaturePeerTests {
    /// Calls methods of the peer's queue or jobs.
    private func call(_ peer: Peer, _ fixture: QueueFixture, _ steps: [JSONValue]) async throws -> [JSONValue] {
        try await peer.features.run("call", .array(steps), on: fixture).arrayValue ?? []
    }

    private func step(_ method: String, _ arguments: JSONValue..., job: String? = nil) -> JSONValue {
        var members = [JSONMember("method", .string(method)), JSONMember("arguments", .array(arguments))]
        if let job { members.append(JSONMember("job", .string(job))) }
        return .object(members)
    }

    /// The peer's jobs carry the true time.
    private func useTrueTime(_ fixture: QueueFixture) {
        fixture.clock.advance(by: SystemWallClock().now - fixture.clock.now)
    }

    private func finish(_ fixture: QueueFixture, failed: Bool = false) async throws -> [ClaimedJob] {
        let jobs = try await fixture.consumer.claim(limit: 100).jobs
        _ = try await fixture.consumer.finish(
            jobs.map { FinishedJob($0.locked, failed ? .failed(reason: "no") : .completed(returnvalue: "\"ours\"")) }
        )
        return jobs
    }

    // MARK: Adding

    @Test(arguments: Peer.all)
    func `an id is taken for both sides, whoever took it (check 12)`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            let job: JSONValue = [["n", [:], ["jobId": "x"]]]
            #expect(try await peer.run("add", job, on: fixture) == ["x"])
            #expect(
                try await fixture.queue.add(NewJob(name: "n", data: "1", options: JobOptions(jobID: "x")))
                    == .duplicate(id: "x")
            )
            #expect(try await peer.run("add", job, on: fixture) == ["x"])
            #expect(try await finish(fixture).map(\.id) == ["x"])
            let events = try await fixture.events()
            #expect(events.filter { $0 == "duplicated jobId=x" }.count == 2)
        }
    }

    @Test(arguments: Peer.all)
    func `a deduplication id is one for both sides (check 15)`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            let theirs: JSONValue = [["n", [:], ["deduplication": ["id": "d"]]]]
            let ours = NewJob(name: "n", data: "1", options: JobOptions(deduplication: Deduplication(id: "d")))
            #expect(try await fixture.queue.add(ours) == .added(id: "1"))
            #expect(try await peer.run("add", theirs, on: fixture) == ["1"])
            _ = try await finish(fixture)
            #expect(try await peer.run("add", theirs, on: fixture) == ["3"])
            #expect(try await fixture.queue.add(ours) == .deduplicated(id: "3"))
            // Ended by the peer, it is free as well.
            _ = try await peer.features.run("work", ["count": 1], on: fixture)
            #expect(try await fixture.queue.add(ours) == .added(id: "5"))
            let timed: JSONValue = [["n", [:], ["deduplication": ["id": "t", "ttl": 60_000]]]]
            #expect(try await peer.run("add", timed, on: fixture) == ["6"])
            let rule = Deduplication(id: "t", ttl: .seconds(60))
            _ = try await finish(fixture)
            #expect(
                try await fixture.queue.add(
                    NewJob(name: "n", data: "1", options: JobOptions(deduplication: rule))
                ) == .deduplicated(id: "6")
            )
        }
    }

    @Test(arguments: Peer.all)
    func `the last one of many that came while active runs, whoever added it (check 16)`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            let rule = Deduplication(id: "d", keepLastIfActive: true)
            let first = NewJob(name: "n", data: #"{"i":1}"#, options: JobOptions(deduplication: rule))
            _ = try await fixture.queue.add(first)
            let active = try await fixture.consumer.claim(limit: 1).jobs
            let later: JSONValue = .array(
                (2...3).map { ["n", ["i": .integer($0)], ["deduplication": ["id": "d", "keepLastIfActive": true]]] }
            )
            #expect(try await peer.run("add", later, on: fixture) == ["1", "1"])
            _ = try await fixture.consumer.finish([FinishedJob(active[0].locked, .completed(returnvalue: "1"))])
            let next = try await finish(fixture)
            #expect(try next.map { try JSONValue(parsing: $0.data) } == [["i": 3]])
            // The other way round: the peer runs the job that ours left.
            _ = try await fixture.queue.add(first)
            _ = try await fixture.consumer.claim(limit: 1)
            _ = try await fixture.queue.add(
                NewJob(name: "n", data: #"{"i":9}"#, options: JobOptions(deduplication: rule))
            )
            let held = try #require(try await fixture.list("active").first)
            _ = try await fixture.command("DEL", fixture.key("\(held):lock"))
            fixture.clock.advance(by: .seconds(600))
            _ = try await fixture.consumer.recoverStalled()
            let done = try await peer.features.run("work", ["count": 2], on: fixture)
            #expect(done.arrayValue?.last?["data"] == ["i": 9])
        }
    }

    @Test(arguments: Peer.all)
    func `options of ours read as the peer's own (check 25)`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            let options = JobOptions(
                attempts: 4,
                backoff: .exponential(.milliseconds(250)),
                removeOnComplete: .keep(count: 7, age: .seconds(60)),
                removeOnFail: .removeAtOnce,
                keepLogs: 3,
                stackTraceLimit: 2,
                deduplication: Deduplication(id: "d", ttl: .seconds(9))
            )
            let id = try await fixture.queue.add(NewJob(name: "n", data: "{}", options: options)).id
            let read = try #require(try await peer.run("job", .string(id), on: fixture)["opts"])
            #expect(read["attempts"] == 4)
            #expect(read["backoff"]?["type"] == "exponential")
            #expect(read["backoff"]?["delay"] == 250)
            #expect(read["removeOnComplete"]?["count"] == 7)
            #expect(read["removeOnComplete"]?["age"] == 60)
            #expect(read["removeOnFail"] == true)
            #expect(read["keepLogs"] == 3)
            #expect(read["stackTraceLimit"] == 2)
            #expect(read["deduplication"]?["id"] == "d")
            #expect(read["deduplication"]?["ttl"] == 9000)
        }
    }

    // MARK: Flows

    @Test(arguments: Peer.all)
    func `a tree of ours is run by the peer, and its values are read by both (check 17)`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            let flow = try await fixture.queue.addFlow(
                FlowJob(
                    NewJob(name: "root", data: "{}"),
                    children: [
                        FlowJob(
                            NewJob(name: "middle", data: "{}"),
                            children: [FlowJob(NewJob(name: "leaf", data: "{}"))]
                        ),
                        FlowJob(NewJob(name: "bad", data: "{}", options: JobOptions(onFailure: .ignoreFailure))),
                    ]
                )
            )
            let done = try await peer.features.run("work", ["count": 4, "fail": ["bad"]], on: fixture)
            #expect(done.arrayValue?.last?["id"] == .string(flow.result.id))
            #expect(try await fixture.expectAtRest(jobs: 4))
            let children = try #require(try await fixture.queue.children(of: flow.result.id))
            #expect(children.completed.values.map { try? JSONValue(parsing: $0) } == ["middle"])
            #expect(children.passedOver.values.map { $0.contains("as asked") } == [true])
            let read = try await peer.run("children", .string(flow.result.id), on: fixture)
            #expect(read == ["middle"])
        }
    }

    @Test(arguments: Peer.all)
    func `a tree of the peer is run by us, and removed by us with its children (check 17)`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            useTrueTime(fixture)
            func node(_ name: JSONValue, _ children: JSONValue = []) -> JSONValue {
                ["name": name, "queueName": .string(fixture.queue.name.name), "data": [:], "children": children]
            }
            let tree = node("root", [node("middle", [node("leaf"), node("leaf")])])
            let root = try #require(try await peer.features.run("tree", tree, on: fixture).stringValue)
            #expect(try await fixture.queue.counts() == JobCounts(waiting: 2, waitingChildren: 2))
            for expected in [["leaf", "leaf"], ["middle"], ["root"]] {
                #expect(try await finish(fixture).map(\.name) == expected)
            }
            #expect(try await fixture.queue.children(of: root)?.completed.values.sorted() == ["\"ours\""])
            let second = try #require(try await peer.features.run("tree", tree, on: fixture).stringValue)
            #expect(try await fixture.queue.remove(second, withChildren: true) == .removed)
            #expect(try await fixture.queue.counts() == JobCounts(completed: 4))
        }
    }

    // MARK: Schedulers

    @Test(arguments: Peer.all)
    func `a scheduler of the peer goes on with us as the only worker (check 21)`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            useTrueTime(fixture)
            _ = try await call(
                peer,
                fixture,
                [
                    step("upsertJobScheduler", "beat", ["every": 500], "tick", ["a": 1], ["attempts": 2]),
                    step("upsertJobScheduler", "cron", ["pattern": "0 0 * * *", "tz": "UTC"], "daily", [:], [:]),
                ]
            )
            useTrueTime(fixture)
            var runs: [ClaimedJob] = []
            for _ in 0..<4 {
                runs += try await finish(fixture)
                fixture.clock.advance(by: .milliseconds(500))
            }
            #expect(runs.count == 4)
            #expect(runs.compactMap { $0.options["repeat"]?["count"]?.integerValue } == [1, 2, 3, 4])
            #expect(try runs.allSatisfy { try JSONValue(parsing: $0.data) == ["a": 1] })
            #expect(runs.allSatisfy { $0.options["attempts"]?.integerValue == 2 })
            let listed = try await call(peer, fixture, [step("getJobSchedulers")])[0].arrayValue ?? []
            let beat = try #require(listed.first { $0["key"] == "beat" })
            #expect(beat["iterationCount"] == 5)
            let ours = try #require(try await fixture.queue.scheduler("beat"))
            #expect(ours.next?.milliseconds == beat["next"]?.integerValue)
            // A day later the pattern's turn has come, and its next run is a day after it.
            let daily = try #require(try await fixture.queue.scheduler("cron")?.next)
            #expect(try await fixture.queue.removeScheduler("beat"))
            fixture.clock.advance(by: daily - fixture.clock.now)
            #expect(try await finish(fixture).map(\.name) == ["daily"])
            #expect(try await fixture.queue.scheduler("cron")?.next == daily + .seconds(86_400))
        }
    }

    @Test(arguments: Peer.all)
    func `a scheduler of ours is listed, run, continued and removed by the peer (check 21)`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            useTrueTime(fixture)
            _ = try await fixture.queue.upsertScheduler(
                "beat",
                Schedule(.every(.milliseconds(300)), limit: 3),
                job: NewJob(name: "tick", data: #"{"a":1}"#, options: JobOptions(attempts: 2))
            )
            let listed = try await call(peer, fixture, [step("getJobScheduler", "beat")])[0]
            #expect(listed["every"] == 300)
            #expect(listed["limit"] == 3)
            #expect(listed["name"] == "tick")
            #expect(listed["template"]?["data"] == ["a": 1])
            #expect(listed["template"]?["opts"]?["attempts"] == 2)
            // A worker of 2.26.0 runs what is there, but does not go on with anybody's schedulers, its own included.
            let count = peer.version == "3.4.4" ? 2 : 1
            let work: JSONValue = ["count": .integer(count)]
            let runs = try await peer.features.run("work", work, on: fixture).arrayValue ?? []
            #expect(runs.map { $0["run"]?.integerValue } == (1...count).map { Int64($0) })
            #expect(runs.allSatisfy { $0["data"] == ["a": 1] })
            _ = try await call(peer, fixture, [step("removeJobScheduler", "beat")])
            #expect(try await fixture.queue.scheduler("beat") == nil)
        }
    }

    // MARK: Administration

    @Test(arguments: Peer.all)
    func `limits set by one side are read and kept by the other (check 20)`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(20)
            _ = try await call(
                peer,
                fixture,
                [step("setGlobalConcurrency", 4), step("setGlobalRateLimit", 5, 60_000)]
            )
            #expect(try await fixture.queue.globalConcurrency() == 4)
            #expect(try await fixture.queue.globalRateLimit() == QueueRateLimit(max: 5, duration: .seconds(60)))
            var taken: [Int] = []
            for _ in 0..<3 { taken.append(try await finish(fixture).count) }
            #expect(taken == [4, 1, 0])
            #expect(try await fixture.queue.limitedFor() != nil)
            let ttl = try await call(peer, fixture, [step("getRateLimitTtl")])[0].integerValue ?? 0
            #expect(ttl > 0)
            try await fixture.queue.setGlobalConcurrency(3)
            try await fixture.queue.setGlobalRateLimit(nil)
            let read = try await call(peer, fixture, [step("getGlobalConcurrency"), step("getGlobalRateLimit")])
            #expect(read == [3, .null])
        }
    }

    @Test(arguments: Peer.all)
    func `pausing is one state for both sides, and nothing is lost (check 18)`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(2)
            _ = try await call(peer, fixture, [step("pause")])
            #expect(try await fixture.queue.isPaused())
            try await fixture.addPlain(1)
            try await fixture.queue.resume()
            #expect(try await finish(fixture).map(\.id) == ["1", "2", "3"])
            try await fixture.queue.pause()
            #expect(try await call(peer, fixture, [step("isPaused")]) == [true])
            _ = try await peer.run("add", [["n", [:], [:]]], on: fixture)
            try await fixture.queue.resume()
            #expect(try await finish(fixture).map(\.id) == ["4"])
        }
    }

    @Test(arguments: Peer.all)
    func `the peer does not remove a job that we hold (check 33)`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(1)
            _ = try await fixture.consumer.claim(limit: 1)
            let refused = try await call(peer, fixture, [step("remove", job: "1")])[0]
            #expect(refused["error"]?.stringValue?.contains("locked") == true)
            #expect(try await fixture.queue.remove("1") == .locked)
            #expect(try await fixture.queue.job("1")?.state == "active")
        }
    }

    @Test(arguments: Peer.all)
    func `what the peer does with our jobs we see, and the reverse (check 27)`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            useTrueTime(fixture)
            let later = JobOptions(delay: .seconds(900))
            _ = try await fixture.queue.addBulk([
                NewJob(name: "good", data: "{}"), NewJob(name: "bad", data: "{}"),
                NewJob(name: "late", data: "{}", options: later), NewJob(name: "late", data: "{}", options: later),
            ])
            _ = try await peer.features.run("work", ["count": 2, "fail": ["bad"]], on: fixture)
            let good = try #require(try await fixture.queue.job("1"))
            #expect(good.state == "completed")
            #expect(good.returnvalue == "good")
            #expect(good.attemptsMade == 1)
            #expect(good.finishedOn != nil)
            let bad = try #require(try await fixture.queue.job("2"))
            #expect(bad.state == "failed")
            // 2.26.0 writes the reason as JSON.
            #expect(bad.failedReason?.contains("as asked") == true)
            #expect(bad.stacktrace.count == 1)
            #expect(bad.stacktrace.first?.contains("RuntimeError") == true)

            var steps = [
                step("promote", job: "3"), step("retry", job: "2"), step("updateProgress", ["p": 1], job: "3"),
                step("log", "theirs", job: "3"), step("updateData", ["new": 1], job: "3"),
            ]
            // 2.26.0 looks for the job under a wrong key and refuses.
            if peer.version == "3.4.4" { steps.append(step("changePriority", ["priority": 5], job: "3")) }
            #expect(try await call(peer, fixture, steps).allSatisfy { $0["error"] == nil })
            if peer.version == "2.26.0" { _ = try await fixture.queue.changePriority("3", to: 5) }
            #expect(try await fixture.queue.jobs(.prioritized).map(\.id) == ["3"])
            #expect(try await fixture.queue.jobs(.wait).map(\.id) == ["2"])
            let changed = try #require(try await fixture.queue.job("3"))
            #expect(changed.progress == ["p": 1])
            #expect(changed.data == #"{"new":1}"#)
            #expect(try await fixture.queue.log("3", "ours") == 2)
            let logs = try await call(peer, fixture, [step("getJobLogs", "3")])[0]
            #expect(logs["logs"] == ["theirs", "ours"])

            _ = try await finish(fixture, failed: true)
            #expect(try await fixture.queue.retry("2", resetAttempts: true) == .waiting)
            #expect(try await fixture.queue.promote("4") == .promoted)
            _ = try await fixture.queue.changePriority("4", to: 7)
            let read = try await call(
                peer,
                fixture,
                [
                    step("getCountsPerPriority", [0, 7]), step("getJobState", "3"),
                    step("getJobs", ["wait"], 0, 9, true),
                ]
            )
            #expect(read[0] == ["0": 1, "7": 1])
            #expect(read[1] == "failed")
            #expect(read[2] == ["2"])
            #expect(try await call(peer, fixture, [step("retryJobs", ["state": "failed"])]).count == 1)
            #expect(try await fixture.queue.counts() == JobCounts(waiting: 2, prioritized: 1, completed: 1))
        }
    }

    @Test(arguments: Peer.all)
    func `either side cleans up after the other`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            useTrueTime(fixture)
            _ = try await peer.run(
                "add",
                [["n", [:], [:]], ["n", [:], ["priority": 3]], ["n", [:], ["delay": 90_000]]],
                on: fixture
            )
            #expect(try await fixture.queue.drain(delayed: true) == 3)
            try await fixture.addPlain(3)
            _ = try await finish(fixture)
            useTrueTime(fixture)
            fixture.clock.advance(by: .seconds(1))
            let cleaned = try await call(peer, fixture, [step("clean", 0, 10, "completed"), step("pause")])
            #expect(cleaned.first?.arrayValue?.count == 3)
            try await fixture.queue.obliterate()
            #expect(try await fixture.command("KEYS", fixture.key("*")).array == [])
        }
    }

    // MARK: Events and dashboards

    @Test(arguments: Peer.all)
    func `the peer's event reader understands what we write (check 34)`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(1)
            let job = try #require(try await fixture.consumer.claim(limit: 1).jobs.first)
            _ = try await fixture.queue.updateProgress("1", #"{"p":1}"#)
            _ = try await fixture.consumer.finish([FinishedJob(job.locked, .completed(returnvalue: #"{"a":[1]}"#))])
            let seen = try await peer.features.run("events", ["until": "drained"], on: fixture).arrayValue ?? []
            #expect(
                seen.compactMap { $0.arrayValue?.first?.stringValue }
                    == ["added", "waiting", "active", "progress", "completed", "drained"]
            )
            let completed = try #require(seen.first { $0.arrayValue?.first == "completed" }?.arrayValue?.last)
            #expect(completed["jobId"] == "1")
            #expect(completed["returnvalue"] == ["a": [1]])
            #expect(completed["prev"] == "active")
            let progress = try #require(seen.first { $0.arrayValue?.first == "progress" }?.arrayValue?.last)
            #expect(progress["data"] == ["p": 1])
        }
    }

    @Test(arguments: Peer.all)
    func `our event reader sees a job of the peer to its end (check 34)`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            let events = QueueEvents(queue: fixture.queue, url: fixture.redis.url)
            try await events.start()
            _ = try await peer.run("add", [["n", [:], [:]]], on: fixture)
            _ = try await peer.features.run("work", ["count": 1], on: fixture)
            let done = try #require(try await events.waitUntilFinished("1", upTo: .seconds(20)))
            #expect(done.returnvalue == "n")
            await events.close()
            let again = QueueEvents(queue: fixture.queue, url: fixture.redis.url, after: "0-0")
            let seen = try await again.read(upTo: .seconds(5)).map(\.kind)
            #expect(seen.prefix(4) == [.added, .waiting, .active, .completed])
            await again.close()
        }
    }

    @Test(arguments: Peer.all)
    func `after a mixed load all agree on the counts and nothing is left over (check 35)`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            useTrueTime(fixture)
            try await fixture.addPlain(60)
            _ = try await peer.run(
                "add_bulk",
                .array((0..<60).map { ["n", ["i": .integer($0)], ["priority": .integer($0 % 3)]] }),
                on: fixture
            )
            async let theirs = peer.features.run("work", ["count": 30, "concurrency": 5, "fail": ["bad"]], on: fixture)
            var ended = 0
            for _ in 0..<40 {
                let jobs = try await fixture.consumer.claim(limit: 2).jobs
                ended += jobs.count
                _ = try await fixture.consumer.finish(
                    jobs.enumerated().map { index, job in
                        FinishedJob(job.locked, index == 0 ? .failed(reason: "no") : .completed(returnvalue: "1"))
                    }
                )
            }
            let done = try await theirs
            ended += try await finish(fixture).count
            // The peer's process may have ended with jobs in hand: then they stall, and we bring them back.
            for id in try await fixture.list("active") {
                _ = try await fixture.command("DEL", fixture.key("\(id):lock"))
            }
            fixture.clock.advance(by: .seconds(60))
            _ = try await fixture.consumer.recoverStalled()
            ended += try await finish(fixture).count
            #expect((done.arrayValue ?? []).count >= 30)
            #expect(ended > 0)
            #expect(try await fixture.expectAtRest(jobs: 120))
            let counts = try await fixture.queue.counts()
            let read = try await peer.run("counts", on: fixture)
            #expect(read["completed"]?.integerValue == Int64(counts.completed))
            #expect(read["failed"]?.integerValue == Int64(counts.failed))
            #expect(read["active"] == 0)
            let report = try await QueueInspector(queue: fixture.queue).run()
            #expect(report.isClean, "\(report.text)")
            #expect(report.idsSeen == 120)
        }
    }

    @Test(arguments: Peer.all)
    func `a worker of the peer is found among the workers`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            let (process, output) = try await peer.start("hang", 5000, on: fixture)
            defer { try? FileManager.default.removeItem(atPath: output) }
            let deadline = ContinuousClock.now + .seconds(20)
            var found: [QueueWorker] = []
            while found.isEmpty, ContinuousClock.now < deadline {
                found = try await fixture.queue.workers()
                if found.isEmpty { try await Task.sleep(for: .milliseconds(20)) }
            }
            try await process.end(SIGKILL)
            #expect(!found.isEmpty)
        }
    }
}
