import JobQueue
import Kernel
import RedisClient
import TestSupport
import Testing

struct LockTests {
    @Test func `locks are renewed, and a lost lock is reported and not made again`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(3)
            let jobs = try await fixture.consumer.claim(limit: 3).jobs
            _ = try await fixture.command("PEXPIRE", fixture.key("1:lock"), 600_000)
            _ = try await fixture.command("SADD", fixture.key("stalled"), "1", "2", "3")
            _ = try await fixture.command("DEL", fixture.key("2:lock"))
            _ = try await fixture.command("SET", fixture.key("3:lock"), "of somebody else")
            #expect(try await fixture.consumer.extend(jobs.map(\.locked)) == ["2", "3"])
            // Renewing writes the lock's own duration, whatever stood there: no clock has to be raced for that.
            let left = try await fixture.command("PTTL", fixture.key("1:lock")).int ?? 0
            #expect(left > 0 && left <= 30_000)
            #expect(try await !fixture.exists("2:lock"))
            let marked = try await fixture.command("SMEMBERS", fixture.key("stalled")).requireArray("SMEMBERS")
            #expect(marked.compactMap(\.string).sorted() == ["2", "3"])
        }
    }

    @Test func `a job whose worker is gone comes back at once when its lock must have lapsed`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(3)
            let jobs = try await fixture.consumer.claim(limit: 3).jobs
            // The lock lapses in the server's time, the clock of the test stands still.
            _ = try await fixture.command("DEL", fixture.key("1:lock"), fixture.key("3:lock"))
            try await fixture.forgetEvents()
            fixture.clock.advance(by: .seconds(31))
            let stalled = try await fixture.consumer.recoverStalled()
            #expect(stalled.recovered.sorted() == ["1", "3"])
            #expect(stalled.failing == 0)
            #expect(try await fixture.list("active") == ["2"])
            #expect(try await fixture.list("wait").sorted() == ["1", "3"])
            #expect(try await fixture.hash("1")["stc"] == "1")
            #expect(try await fixture.events().prefix(2).map { $0.split(separator: " ")[0] } == ["waiting", "stalled"])
            let marked = try await fixture.command("SMEMBERS", fixture.key("stalled")).requireArray("SMEMBERS")
            #expect(marked.compactMap(\.string) == ["2"])
            let again = try await fixture.consumer.claim(limit: 5).jobs
            #expect(again.allSatisfy { $0.stalledCount == 1 && $0.attemptsStarted == 2 })
            // The first holder is late: it neither finishes the job nor harms the second one.
            let late = try await fixture.consumer.finish([FinishedJob(jobs[0].locked, .completed(returnvalue: "1"))])
            #expect(late == [.lockLost])
        }
    }

    @Test func `a job just taken is only marked, and comes back at the next check`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(1)
            _ = try await fixture.consumer.claim(limit: 1)
            _ = try await fixture.command("DEL", fixture.key("1:lock"))
            #expect(try await fixture.consumer.recoverStalled().recovered.isEmpty)
            // Within the interval nobody checks again.
            #expect(try await fixture.consumer.recoverStalled().recovered.isEmpty)
            _ = try await fixture.command("DEL", fixture.key("stalled-check"))
            #expect(try await fixture.consumer.recoverStalled().recovered == ["1"])
        }
    }

    @Test func `a job that stalls too often shall fail with the reason`() async throws {
        try await QueueFixture.run(options: .init(maxStalledCount: 1)) { fixture in
            try await fixture.addPlain(1)
            for round in 1...2 {
                _ = try await fixture.consumer.claim(limit: 1)
                _ = try await fixture.command("DEL", fixture.key("1:lock"), fixture.key("stalled-check"))
                fixture.clock.advance(by: .seconds(31))
                #expect(try await fixture.consumer.recoverStalled().failing == round - 1)
            }
            let job = try #require(try await fixture.consumer.claim(limit: 1).jobs.first)
            #expect(job.deferredFailure == "job stalled more than allowable limit")
        }
    }

    @Test func `an active id without a job is dropped`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(2)
            _ = try await fixture.consumer.claim(limit: 2)
            _ = try await fixture.command("DEL", fixture.key("1"), fixture.key("1:lock"))
            let stalled = try await fixture.consumer.recoverStalled()
            #expect(stalled.dropped == ["1"])
            #expect(try await fixture.list("active") == ["2"])
            #expect(try await !fixture.exists("1"))
        }
    }

    @Test func `all jobs of a worker that died come back in one check`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(2500)
            var ids: [String] = []
            for _ in 0..<3 { ids += try await fixture.consumer.claim(limit: 1000).jobs.map(\.id) }
            try await fixture.redis.removeKeys(matching: "\(fixture.queue.name.keyPrefix)*:lock")
            fixture.clock.advance(by: .seconds(31))
            #expect(try await Set(fixture.consumer.recoverStalled().recovered) == Set(ids))
            #expect(try await fixture.list("active").isEmpty)
            #expect(try await fixture.list("wait").count == 2500)
        }
    }
}
