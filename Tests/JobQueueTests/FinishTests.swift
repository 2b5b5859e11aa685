import JobQueue
import Kernel
import RedisClient
import Testing

struct FinishTests {
    @Test func `a completed job has its fields, its events, and nothing left of its lock`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(1)
            let job = try #require(try await fixture.consumer.claim(limit: 1).jobs.first)
            try await fixture.forgetEvents()
            fixture.clock.advance(by: .milliseconds(7))
            let results = try await fixture.consumer.finish([
                FinishedJob(job.locked, .completed(returnvalue: #"{"outcome":"sent"}"#))
            ])
            #expect(results == [.done])
            let hash = try await fixture.hash("1")
            #expect(hash["returnvalue"] == #"{"outcome":"sent"}"#)
            #expect(hash["finishedOn"] == String(QueueFixture.start.milliseconds + 7))
            #expect(hash["atm"] == "1")
            #expect(try await fixture.score("completed", "1") == QueueFixture.start.milliseconds + 7)
            #expect(
                try await fixture.events() == [
                    #"completed jobId=1 returnvalue={"outcome":"sent"} prev=active"#, "drained",
                ]
            )
            #expect(try await fixture.expectAtRest(jobs: 1))
        }
    }

    @Test func `a failed job has its reason and traces, and is told as exhausted`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(1)
            _ = try await fixture.command("HSET", fixture.key("1"), "stacktrace", #"["one","two","three"]"#)
            let job = try #require(try await fixture.consumer.claim(limit: 1).jobs.first)
            try await fixture.forgetEvents()
            let results = try await fixture.consumer.finish([
                FinishedJob(job.locked, .failed(reason: "no \"device\"", trace: "four"))
            ])
            #expect(results == [.done])
            let hash = try await fixture.hash("1")
            #expect(hash["failedReason"] == "no \"device\"")
            #expect(hash["stacktrace"] == #"["two","three","four"]"#)
            #expect(hash["returnvalue"] == nil)
            #expect(try await fixture.sortedSet("failed") == ["1"])
            #expect(
                try await fixture.events() == [
                    "failed jobId=1 failedReason=no \"device\" prev=active", "retries-exhausted jobId=1 attemptsMade=1",
                    "drained",
                ]
            )
        }
    }

    @Test func `a failure before the last attempt is not told as exhausted, and the deferred failure is cleared`()
        async throws
    {
        try await QueueFixture.run { fixture in
            _ = try await fixture.queue.add(NewJob(name: "n", data: "1", options: JobOptions(attempts: 5)))
            _ = try await fixture.command("HSET", fixture.key("1"), "defa", "job stalled more than allowable limit")
            let job = try #require(try await fixture.consumer.claim(limit: 1).jobs.first)
            #expect(job.deferredFailure == "job stalled more than allowable limit")
            _ = try await fixture.consumer.finish([FinishedJob(job.locked, .failed(reason: "stalled"))])
            #expect(try await fixture.hash("1")["defa"] == nil)
            let events = try await fixture.events()
            #expect(!events.contains { $0.hasPrefix("retries-exhausted") })
        }
    }

    /// The ids leave `active` in one pass; whatever the order, exactly they leave and the others keep their places.
    @Test(arguments: [1, 2, 3, 4, 5, 6])
    func `any set of jobs leaves active, and the rest stay in order`(seed: UInt64) async throws {
        try await QueueFixture.run { fixture in
            var random = SeededGenerator(seed: seed)
            try await fixture.addPlain(700)
            var held = try await fixture.consumer.claim(limit: 700).jobs
            while !held.isEmpty {
                var group = held.shuffled(using: &random).prefix(Int.random(in: 1...200, using: &random))
                if seed.isMultiple(of: 3) { group = held.prefix(97) }
                let leaving = Set(group.map(\.id))
                let results = try await fixture.consumer.finish(
                    group.map { FinishedJob($0.locked, .completed(returnvalue: "null")) }
                )
                #expect(results.allSatisfy { $0 == .done })
                held.removeAll { leaving.contains($0.id) }
                #expect(try await fixture.list("active") == held.map(\.id).reversed())
            }
            #expect(try await fixture.expectAtRest(jobs: 700))
        }
    }

    /// B3: a parent that adds children while it runs must not be told as completed before they ended.
    @Test(arguments: ["dependencies", "unsuccessful"])
    func `a job with open or failed children fails instead of being completed, and holds up nobody`(kind: String)
        async throws
    {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(3)
            let jobs = try await fixture.consumer.claim(limit: 3).jobs
            let child = fixture.queue.name.keyPrefix + "child"
            if kind == "dependencies" {
                _ = try await fixture.command("SADD", fixture.key("2:dependencies"), .string(child))
            } else {
                _ = try await fixture.command("ZADD", fixture.key("2:unsuccessful"), 1, .string(child))
            }
            let results = try await fixture.consumer.finish(
                jobs.map { FinishedJob($0.locked, .completed(returnvalue: "null")) }
            )
            #expect(results == [.done, .done, .done])
            #expect(try await fixture.sortedSet("completed") == ["1", "3"])
            #expect(try await fixture.sortedSet("failed") == ["2"])
            #expect(try await fixture.hash("2")["failedReason"]?.contains("children") == true)
            #expect(try await fixture.expectAtRest(jobs: 3))
        }
    }

    @Test func `ends are counted by the minute, as dashboards draw them (B3)`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(5)
            let jobs = try await fixture.consumer.claim(limit: 5).jobs
            func end(_ index: Int, _ outcome: FinishedJob.Result) async throws {
                #expect(try await fixture.consumer.finish([FinishedJob(jobs[index].locked, outcome)]) == [.done])
            }
            try await end(0, .completed(returnvalue: "1"))
            try await end(1, .completed(returnvalue: "1"))
            try await end(2, .failed(reason: "no"))
            var completed = try await fixture.queue.endedPerMinute(.completed)
            #expect(completed.total == 2)
            #expect(completed.points.isEmpty)
            fixture.clock.advance(by: .seconds(60))
            try await end(3, .completed(returnvalue: "1"))
            fixture.clock.advance(by: .seconds(180))
            try await end(4, .completed(returnvalue: "1"))
            completed = try await fixture.queue.endedPerMinute(.completed)
            #expect(completed.total == 4)
            #expect(completed.points == [0, 0, 1, 2])
            #expect(completed.updated == fixture.clock.now)
            #expect(try await fixture.queue.endedPerMinute(.failed).total == 1)
        }
    }

    @Test func `what is not ours is told and left alone`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(6)
            let jobs = try await fixture.consumer.claim(limit: 6).jobs
            _ = try await fixture.command("SET", fixture.key("1:lock"), "of somebody else")
            _ = try await fixture.command("DEL", fixture.key("2:lock"))
            _ = try await fixture.command("DEL", fixture.key("3"), fixture.key("3:lock"))
            _ = try await fixture.command("LREM", fixture.key("active"), 0, "4")
            let before = try await [fixture.hash("1"), fixture.hash("2"), fixture.hash("4")]
            let finished = jobs.map { FinishedJob($0.locked, .completed(returnvalue: "null")) }
            let results = try await fixture.consumer.finish(finished + [finished[4]])
            #expect(results == [.lockLost, .notLocked, .missing, .lockLost, .done, .done, .notLocked])
            #expect(try await [fixture.hash("1"), fixture.hash("2"), fixture.hash("4")] == before)
            #expect(try await fixture.list("active") == ["3", "2", "1"])
            // BullMQ would have deleted this lock before it notices that the job is not active.
            #expect(try await fixture.exists("4:lock"))
            #expect(try await fixture.hash("5")["atm"] == "1")
        }
    }

    @Test func `finished jobs are kept by count and by age, and their keys go with them`() async throws {
        let options = JobConsumer.Options(keptCompleted: 3, completedAge: .seconds(60))
        try await QueueFixture.run(options: options) { fixture in
            func complete(_ count: Int) async throws {
                try await fixture.addPlain(count)
                let jobs = try await fixture.consumer.claim(limit: count).jobs
                _ = try await fixture.consumer.finish(
                    jobs.map { FinishedJob($0.locked, .completed(returnvalue: "1")) }
                )
            }
            try await complete(2)
            _ = try await fixture.command("RPUSH", fixture.key("1:logs"), "row")
            fixture.clock.advance(by: .seconds(1))
            try await complete(3)
            #expect(try await fixture.sortedSet("completed") == ["3", "4", "5"])
            #expect(try await !fixture.exists("1"))
            #expect(try await !fixture.exists("1:logs"))
            fixture.clock.advance(by: .seconds(61))
            try await complete(1)
            #expect(try await fixture.sortedSet("completed") == ["6"])
            #expect(try await !fixture.exists("5"))
        }
    }

    @Test func `a job's own wish for what is kept wins`() async throws {
        try await QueueFixture.run { fixture in
            func complete(_ retention: JobOptions.Retention?) async throws -> String {
                let id = try await fixture.queue.add(
                    NewJob(name: "n", data: "1", options: JobOptions(removeOnComplete: retention))
                ).id
                let jobs = try await fixture.consumer.claim(limit: 1).jobs
                fixture.clock.advance(by: .milliseconds(1))
                _ = try await fixture.consumer.finish([FinishedJob(jobs[0].locked, .completed(returnvalue: "1"))])
                return id
            }
            for _ in 0..<3 { _ = try await complete(nil) }
            try await fixture.forgetEvents()
            let gone = try await complete(.removeAtOnce)
            #expect(try await !fixture.exists(gone))
            #expect(try await fixture.sortedSet("completed") == ["1", "2", "3"])
            #expect(try await fixture.events().contains("completed jobId=\(gone) returnvalue=1 prev=active"))
            _ = try await complete(.keep(count: 2, age: nil))
            #expect(try await fixture.sortedSet("completed") == ["3", "5"])
            _ = try await complete(.keepAll)
            #expect(try await fixture.sortedSet("completed") == ["3", "5", "6"])
        }
    }

    @Test func `a deduplication id is freed, and the job kept for later is added`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(2)
            for id in ["1", "2"] {
                _ = try await fixture.command("HSET", fixture.key(id), "deid", "d\(id)")
                _ = try await fixture.command("SET", fixture.key("de:d\(id)"), .string(id))
            }
            _ = try await fixture.command(
                "HSET",
                fixture.key("dn:d2"),
                "name",
                "next",
                "data",
                "{\"i\":3}",
                "opts",
                "{}",
                "jid",
                "9"
            )
            let jobs = try await fixture.consumer.claim(limit: 2).jobs
            _ = try await fixture.consumer.finish(jobs.map { FinishedJob($0.locked, .completed(returnvalue: "1")) })
            #expect(try await !fixture.exists("de:d1"))
            #expect(try await fixture.command("GET", fixture.key("de:d2")).string == "9")
            #expect(try await !fixture.exists("dn:d2"))
            let next = try await fixture.consumer.claim(limit: 2).jobs
            #expect(next.map(\.id) == ["9"])
            #expect(next.first?.data == "{\"i\":3}")
        }
    }
}
