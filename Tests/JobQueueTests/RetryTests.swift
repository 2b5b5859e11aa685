import JobQueue
import Kernel
import RedisClient
import Testing

/// Jobs that people let run again, earlier or in another order (B3).
struct RetryTests {
    private func end(_ fixture: QueueFixture, failed: Bool = true) async throws {
        let jobs = try await fixture.consumer.claim(limit: 100).jobs
        _ = try await fixture.consumer.finish(
            jobs.map {
                FinishedJob($0.locked, failed ? .failed(reason: "no", trace: "t") : .completed(returnvalue: "1"))
            }
        )
    }

    @Test func `a failed job runs again with what it was, once more`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(1)
            #expect(try await fixture.queue.retry("1") == .notFinished)
            #expect(try await fixture.queue.retry("none") == .missing)
            try await end(fixture)
            try await fixture.forgetEvents()
            #expect(try await fixture.queue.retry("1") == .waiting)
            #expect(try await fixture.events() == ["waiting jobId=1 prev=failed"])
            #expect(try await fixture.score("marker", "0") == 0)
            let stored = try #require(try await fixture.queue.job("1"))
            #expect(stored.state == "waiting")
            #expect(stored.attemptsMade == 1)
            #expect(stored.attemptsStarted == 1)
            #expect(stored.stacktrace == ["t"])
            #expect(stored.failedReason == nil)
            #expect(stored.finishedOn == nil)
            #expect(stored.processedOn == nil)
            try await end(fixture, failed: false)
            #expect(try await fixture.queue.retry("1", resetAttempts: true, resetStarts: true) == .waiting)
            let again = try #require(try await fixture.queue.job("1"))
            #expect(again.attemptsMade == 0)
            #expect(again.attemptsStarted == 0)
            #expect(again.returnvalue == nil)
        }
    }

    @Test func `priority and lifo hold when a job runs again`() async throws {
        try await QueueFixture.run { fixture in
            _ = try await fixture.queue.addBulk([
                NewJob(name: "n", data: "1", options: JobOptions(jobID: "ranked", priority: 5)),
                NewJob(name: "n", data: "1", options: JobOptions(jobID: "first", lifo: true)),
            ])
            try await end(fixture)
            try await fixture.addPlain(2)
            for id in ["ranked", "first"] { #expect(try await fixture.queue.retry(id) == .waiting) }
            #expect(try await fixture.list("wait") == ["4", "3", "first"])
            #expect(try await fixture.sortedSet("prioritized") == ["ranked"])
        }
    }

    @Test func `many run again, only those that had ended by then`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(1203)
            for _ in 0..<13 { try await end(fixture) }
            let moment = fixture.clock.now
            fixture.clock.advance(by: .seconds(1))
            try await fixture.addPlain(1)
            try await end(fixture)
            _ = try await fixture.command("DEL", fixture.key("7"))
            #expect(try await fixture.queue.retryAll(.failed, before: moment, resetAttempts: true) == 1203)
            #expect(try await fixture.queue.counts() == JobCounts(waiting: 1202, failed: 1))
            #expect(try await fixture.hash("1")["atm"] == nil)
            #expect(try await fixture.queue.retryAll(.completed) == 0)
        }
    }

    @Test func `delayed jobs become ready early, one or all`() async throws {
        try await QueueFixture.run { fixture in
            _ = try await fixture.queue.addBulk(
                (1...3).map {
                    NewJob(
                        name: "n",
                        data: "1",
                        options: JobOptions(jobID: "j\($0)", delay: .seconds($0), priority: $0 == 2 ? 9 : 0)
                    )
                }
            )
            #expect(try await fixture.queue.promote("j3") == .promoted)
            #expect(try await fixture.queue.promote("j3") == .notDelayed)
            #expect(try await fixture.queue.promote("none") == .missing)
            #expect(try await fixture.hash("j3")["delay"] == "0")
            #expect(try await fixture.events().suffix(1) == ["waiting jobId=j3 prev=delayed"])
            #expect(try await fixture.queue.promoteAll() == 2)
            #expect(try await fixture.list("wait") == ["j1", "j3"])
            #expect(try await fixture.sortedSet("prioritized") == ["j2"])
        }
    }

    @Test func `a priority changes wherever the job is`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(2)
            _ = try await fixture.queue.addBulk([
                NewJob(name: "n", data: "1", options: JobOptions(jobID: "a", priority: 5)),
                NewJob(name: "n", data: "1", options: JobOptions(jobID: "b", priority: 5)),
                NewJob(name: "n", data: "1", options: JobOptions(jobID: "later", delay: .seconds(1))),
            ])
            #expect(try await fixture.queue.changePriority("1", to: 5))
            #expect(try await fixture.sortedSet("prioritized") == ["a", "b", "1"])
            #expect(try await fixture.queue.changePriority("b", to: 5, asNext: true))
            #expect(try await fixture.sortedSet("prioritized") == ["b", "a", "1"])
            #expect(try await fixture.queue.changePriority("a", to: 0))
            #expect(try await fixture.list("wait") == ["a", "2"])
            #expect(try await fixture.queue.changePriority("later", to: 1))
            fixture.clock.advance(by: .seconds(1))
            let order = try await fixture.consumer.claim(limit: 10).jobs.map(\.id)
            #expect(order.filter { ["later", "b", "1"].contains($0) } == ["later", "b", "1"])
            #expect(try await !fixture.queue.changePriority("none", to: 1))
            await #expect(throws: JobQueueError.self) { try await fixture.queue.changePriority("1", to: 2_097_152) }
        }
    }
}
