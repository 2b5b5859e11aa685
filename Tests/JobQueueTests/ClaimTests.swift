import JobQueue
import Kernel
import RedisClient
import Testing

struct ClaimTests {
    @Test func `a claimed job carries what the producer gave and is locked`() async throws {
        try await QueueFixture.run { fixture in
            _ = try await fixture.queue.add(NewJob(name: "send", data: #"{"x":1}"#, options: JobOptions(attempts: 4)))
            try await fixture.forgetEvents()
            let claim = try await fixture.consumer.claim(limit: 10)
            let job = try #require(claim.jobs.first)
            #expect(claim.jobs.count == 1)
            #expect(job.id == "1")
            #expect(job.name == "send")
            #expect(job.data == #"{"x":1}"#)
            #expect(job.options["attempts"]?.integerValue == 4)
            #expect(job.timestamp == QueueFixture.start)
            #expect(job.attemptsStarted == 1)
            #expect(job.attemptsMade == 0)
            #expect(job.deferredFailure == nil)
            #expect(try await fixture.command("GET", fixture.key("1:lock")).string == job.token)
            let time = try await fixture.command("PTTL", fixture.key("1:lock")).int ?? 0
            #expect((1...30_000).contains(time))
            let hash = try await fixture.hash("1")
            #expect(hash["processedOn"] == String(QueueFixture.start.milliseconds))
            #expect(hash["pb"] == "w1")
            #expect(hash["ats"] == "1")
            #expect(try await fixture.list("active") == ["1"])
            #expect(try await fixture.events() == ["active jobId=1 prev=waiting"])
        }
    }

    @Test func `the oldest come first and the newest of active stands left`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(5)
            let claim = try await fixture.consumer.claim(limit: 3)
            #expect(claim.jobs.map(\.id) == ["1", "2", "3"])
            #expect(try await fixture.list("active") == ["3", "2", "1"])
            #expect(try await fixture.list("wait") == ["5", "4"])
            #expect(try await fixture.score("marker", "0") == 0)
        }
    }

    @Test(arguments: [
        // limit, plain, prioritized, limit for prioritized: expected plain and prioritized
        (8, 20, 20, 8, 6, 2), (8, 20, 1, 8, 7, 1), (8, 20, 0, 8, 8, 0), (8, 3, 20, 8, 3, 5), (1, 5, 5, 1, 1, 0),
        (8, 20, 20, 0, 8, 0), (8, 2, 20, 3, 2, 3), (3, 5, 5, 3, 2, 1),
    ])
    func `plain jobs come first but leave a quarter`(
        limit: Int,
        plain: Int,
        prioritized: Int,
        prioritizedLimit: Int,
        expectedPlain: Int,
        expectedPrioritized: Int
    ) async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(plain)
            _ = try await fixture.queue.addBulk(
                (0..<prioritized).map { _ in NewJob(name: "n", data: "1", options: JobOptions(priority: 10)) }
            )
            let jobs = try await fixture.consumer.claim(limit: limit, prioritizedLimit: prioritizedLimit).jobs
            #expect(jobs.count { $0.priority == 0 } == expectedPlain)
            #expect(jobs.count { $0.priority == 10 } == expectedPrioritized)
        }
    }

    @Test func `delayed jobs are promoted when due, in their order, and the next due time is told`() async throws {
        try await QueueFixture.run { fixture in
            let delays: [(Int64, Int)] = [(1000, 0), (500, 0), (500, 7), (5000, 0)]
            _ = try await fixture.queue.addBulk(
                delays.map {
                    NewJob(name: "n", data: "1", options: JobOptions(delay: .milliseconds($0.0), priority: $0.1))
                }
            )
            var claim = try await fixture.consumer.claim(limit: 10)
            #expect(claim.jobs.isEmpty)
            #expect(claim.nextDue == QueueFixture.start + .milliseconds(500))
            fixture.clock.advance(by: .milliseconds(499))
            #expect(try await fixture.consumer.claim(limit: 10).jobs.isEmpty)
            fixture.clock.advance(by: .milliseconds(501))
            try await fixture.forgetEvents()
            claim = try await fixture.consumer.claim(limit: 10)
            #expect(claim.jobs.map(\.id) == ["2", "1", "3"])
            #expect(claim.nextDue == QueueFixture.start + .milliseconds(5000))
            #expect(try await fixture.hash("1")["delay"] == "0")
            #expect(claim.jobs[1].options["delay"]?.integerValue == 1000)
            #expect(try await fixture.events().first == "waiting jobId=2 prev=delayed")
        }
    }

    @Test func `ids without a job are dropped and leave no phantom`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(4)
            _ = try await fixture.command("DEL", fixture.key("1"), fixture.key("3"))
            // What a worker of another kind makes of such an id, and a marker of BullMQ 4.
            _ = try await fixture.command("HSET", fixture.key("3"), "ats", "1", "processedOn", "5")
            _ = try await fixture.command("RPUSH", fixture.key("wait"), "0:0")
            let claim = try await fixture.consumer.claim(limit: 2)
            #expect(claim.jobs.map(\.id) == ["2", "4"])
            #expect(try await fixture.list("active") == ["4", "2"])
            #expect(try await !fixture.exists("1"))
            #expect(try await !fixture.exists("3"))
            #expect(try await !fixture.exists("1:lock"))
        }
    }

    @Test func `a hash that another client made again empty, with only its count of starts, is no job`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(2)
            _ = try await fixture.command("DEL", fixture.key("1"))
            _ = try await fixture.command("HSET", fixture.key("1"), "ats", 1, "processedOn", 5)
            #expect(try await fixture.consumer.claim(limit: 5).jobs.map(\.id) == ["2"])
            #expect(try await fixture.exists("1") == false)
            #expect(try await fixture.list("active") == ["2"])
        }
    }

    @Test func `an id that stands twice in the list is run once`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(1)
            _ = try await fixture.command("LPUSH", fixture.key("wait"), "1")
            #expect(try await fixture.consumer.claim(limit: 10).jobs.map(\.id) == ["1"])
            #expect(try await fixture.list("active") == ["1"])
        }
    }

    @Test func `a paused queue gives nothing, but promotes`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(1)
            _ = try await fixture.queue.add(
                NewJob(name: "n", data: "1", options: JobOptions(delay: .milliseconds(10)))
            )
            try await fixture.queue.pause()
            fixture.clock.advance(by: .seconds(1))
            let claim = try await fixture.consumer.claim(limit: 10)
            #expect(claim.isPaused)
            #expect(claim.jobs.isEmpty)
            #expect(try await fixture.list("wait") == ["2", "1"])
            #expect(try await fixture.score("marker", "0") == nil)
            try await fixture.queue.resume()
            #expect(try await fixture.consumer.claim(limit: 10).jobs.count == 2)
        }
    }

    @Test func `global concurrency bounds what is active, and an end makes room known`() async throws {
        try await QueueFixture.run { fixture in
            _ = try await fixture.command("HSET", fixture.key("meta"), "concurrency", 2)
            try await fixture.addPlain(5)
            let jobs = try await fixture.consumer.claim(limit: 10).jobs
            #expect(jobs.count == 2)
            #expect(try await fixture.consumer.claim(limit: 10).jobs.isEmpty)
            _ = try await fixture.command("DEL", fixture.key("marker"))
            _ = try await fixture.consumer.finish([FinishedJob(jobs[0].locked, .completed(returnvalue: "null"))])
            #expect(try await fixture.score("marker", "0") == 0)
            #expect(try await fixture.consumer.claim(limit: 10).jobs.count == 1)
        }
    }

    @Test func `the queue's rate limit bounds a window`() async throws {
        try await QueueFixture.run { fixture in
            _ = try await fixture.command("HSET", fixture.key("meta"), "max", 3, "duration", 60_000)
            try await fixture.addPlain(5)
            #expect(try await fixture.consumer.claim(limit: 2).jobs.count == 2)
            #expect(try await fixture.consumer.claim(limit: 10).jobs.count == 1)
            let claim = try await fixture.consumer.claim(limit: 10)
            #expect(claim.jobs.isEmpty)
            let wait = try #require(claim.limitedFor)
            #expect(wait > .zero && wait <= .seconds(60))
            _ = try await fixture.command("DEL", fixture.key("limiter"))
            #expect(try await fixture.consumer.claim(limit: 10).jobs.count == 2)
        }
    }

    @Test func `two workers never get the same job`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(2000)
            let other = fixture.otherConsumer()
            var ids: [String] = []
            try await withThrowingTaskGroup(of: [String].self) { group in
                for consumer in [fixture.consumer, other] {
                    group.addTask {
                        var taken: [String] = []
                        while true {
                            let jobs = try await consumer.claim(limit: 64).jobs
                            if jobs.isEmpty { return taken }
                            taken += jobs.map(\.id)
                        }
                    }
                }
                for try await taken in group { ids += taken }
            }
            #expect(ids.count == 2000)
            #expect(Set(ids).count == 2000)
            await other.close()
        }
    }

    @Test func `a job with hardly a field is claimed, and a broken timestamp is none`() async throws {
        try await QueueFixture.run { fixture in
            _ = try await fixture.command("HSET", fixture.key("a"), "name", "x", "data", "{}")
            _ = try await fixture.command("HSET", fixture.key("b"), "name", "x", "data", "{}", "timestamp", "1.5")
            _ = try await fixture.command("LPUSH", fixture.key("wait"), "a", "b")
            let jobs = try await fixture.consumer.claim(limit: 5).jobs
            #expect(jobs.map(\.id) == ["a", "b"])
            #expect(jobs.allSatisfy { $0.timestamp == nil && $0.opts == "{}" && $0.attemptsStarted == 1 })
        }
    }
}
