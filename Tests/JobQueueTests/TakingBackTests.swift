import JobQueue
import Kernel
import Testing

struct TakingBackTests {
    private func delayed(_ id: String, priority: Int = 0) -> NewJob {
        NewJob(
            name: "n",
            data: #"{"a":1}"#,
            options: JobOptions(jobID: id, delay: .seconds(9), priority: priority, timestamp: QueueFixture.start)
        )
    }

    @Test func `a job that nobody has held is removed, whether it is delayed or ready`() async throws {
        try await QueueFixture.run { fixture in
            _ = try await fixture.queue.addBulk([
                delayed("later"), NewJob(name: "n", data: "1", options: JobOptions(jobID: "plain")),
                NewJob(name: "n", data: "1", options: JobOptions(jobID: "ranked", priority: 3)),
            ])
            for id in ["later", "plain", "ranked"] {
                #expect(try await fixture.queue.takeBack(["none", id]) == .done(id: id))
                #expect(try await fixture.queue.takeBack([id]) == .missing)
            }
            #expect(try await fixture.queue.counts() == JobCounts())
            #expect(try await fixture.events().suffix(1) == ["removed jobId=ranked prev=prioritized"])
        }
    }

    @Test func `a job that a worker holds, held or ended stays as it is`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(3)
            let jobs = try await fixture.consumer.claim(limit: 3).jobs
            _ = try await fixture.consumer.finish([FinishedJob(jobs[0].locked, .completed(returnvalue: "1"))])
            _ = try await fixture.consumer.move([
                MovedJob(jobs[1].locked, to: .delayed(until: QueueFixture.start + .seconds(60), skipAttempt: true))
            ])
            #expect(try await fixture.queue.takeBack(["1"]) == .ended)
            #expect(try await fixture.queue.takeBack(["2"]) == .begun)
            #expect(try await fixture.queue.takeBack(["3"]) == .active)
            let due = QueueFixture.start + .seconds(90)
            #expect(try await fixture.queue.move(["3"], to: "x", due: due) == .active)
            #expect(try await fixture.queue.counts() == JobCounts(active: 1, delayed: 1, completed: 1))
            #expect(try await fixture.queue.job("x") == nil)
        }
    }

    @Test func `a moved job keeps data, priority and creation, and is claimed once, at its new time`() async throws {
        try await QueueFixture.run { fixture in
            _ = try await fixture.queue.add(delayed("a", priority: 7))
            fixture.clock.advance(by: .seconds(1))
            let due = QueueFixture.start + .seconds(30)
            #expect(try await fixture.queue.move(["a"], to: "b", due: due) == .done(id: "a"))
            #expect(try await fixture.queue.job("a") == nil)
            let hash = try await fixture.hash("b")
            #expect(hash["data"] == #"{"a":1}"#)
            #expect(hash["priority"] == "7")
            #expect(hash["delay"] == "30000")
            #expect(hash["timestamp"] == String(QueueFixture.start.milliseconds))
            let options = try JSONValue(parsing: hash["opts"] ?? "")
            #expect(options["jobId"] == "b")
            #expect(options["delay"] == 30000)
            #expect(try await fixture.score("delayed", "b") == due.milliseconds * 4096)
            // Moved again, to a moment that is past: it is due at once.
            #expect(try await fixture.queue.move(["a", "b"], to: "c", due: QueueFixture.start) == .done(id: "b"))
            let jobs = try await fixture.consumer.claim(limit: 5).jobs
            #expect(jobs.map(\.id) == ["c"])
            #expect(try await fixture.queue.counts() == JobCounts(active: 1))
        }
    }

    @Test func `two who move the same job at once leave one job`() async throws {
        try await QueueFixture.run { fixture in
            _ = try await fixture.queue.add(delayed("a"))
            let due = QueueFixture.start + .seconds(30)
            let queue = fixture.queue
            async let first = queue.move(["a"], to: "b", due: due)
            async let second = queue.move(["a"], to: "c", due: due)
            let outcomes = try await [first, second]
            #expect(outcomes.count { $0 == .done(id: "a") } == 1)
            #expect(outcomes.count { $0 == .missing } == 1)
            #expect(try await queue.counts() == JobCounts(delayed: 1))
        }
    }

    @Test func `an id that is taken, or a job with relations, is refused`() async throws {
        try await QueueFixture.run { fixture in
            _ = try await fixture.queue.addBulk([delayed("a"), delayed("b")])
            await #expect(throws: JobQueueError.self) {
                _ = try await fixture.queue.move(["a"], to: "b", due: QueueFixture.start)
            }
            _ = try await fixture.queue.add(
                NewJob(
                    name: "n",
                    data: "1",
                    options: JobOptions(jobID: "d", delay: .seconds(9), deduplication: Deduplication(id: "once"))
                )
            )
            #expect(try await fixture.queue.takeBack(["d"]) == .related)
            #expect(try await fixture.queue.counts() == JobCounts(delayed: 3))
        }
    }
}
