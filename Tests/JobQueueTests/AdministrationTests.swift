import JobQueue
import Kernel
import RedisClient
import Testing

struct AdministrationTests {
    @Test func `every state is counted and located`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(5)
            let jobs = try await fixture.consumer.claim(limit: 3).jobs
            _ = try await fixture.consumer.finish([
                FinishedJob(jobs[0].locked, .completed(returnvalue: "1")),
                FinishedJob(jobs[1].locked, .failed(reason: "no")),
            ])
            _ = try await fixture.queue.addBulk([
                NewJob(name: "n", data: "1", options: JobOptions(jobID: "later", delay: .seconds(9))),
                NewJob(name: "n", data: "1", options: JobOptions(jobID: "ranked", priority: 4)),
            ])
            #expect(
                try await fixture.queue.counts()
                    == JobCounts(waiting: 2, active: 1, prioritized: 1, delayed: 1, completed: 1, failed: 1)
            )
            var states: [String] = []
            for id in ["1", "2", "3", "4", "later", "ranked"] {
                states.append(try #require(try await fixture.queue.job(id)).state)
            }
            #expect(states == ["completed", "failed", "active", "waiting", "delayed", "prioritized"])
            #expect(try await fixture.queue.job("none") == nil)
        }
    }

    @Test func `a job is removed from whatever state holds it, unless it is locked`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(2)
            _ = try await fixture.consumer.claim(limit: 1)
            _ = try await fixture.queue.add(
                NewJob(name: "n", data: "1", options: JobOptions(jobID: "later", delay: .seconds(9)))
            )
            #expect(try await fixture.queue.remove("1") == .locked)
            #expect(try await fixture.queue.remove("2") == .removed)
            #expect(try await fixture.queue.remove("later") == .removed)
            #expect(try await fixture.queue.remove("later") == .missing)
            #expect(try await fixture.queue.counts() == JobCounts(active: 1))
            #expect(try await fixture.events().suffix(1) == ["removed jobId=later prev=delayed"])
        }
    }

    @Test func `a delayed job gets another due time and its options follow`() async throws {
        try await QueueFixture.run { fixture in
            _ = try await fixture.queue.add(
                NewJob(name: "n", data: "1", options: JobOptions(jobID: "a", delay: .seconds(9), attempts: 2))
            )
            fixture.clock.advance(by: .seconds(1))
            let due = QueueFixture.start + .seconds(30)
            #expect(try await fixture.queue.changeDelay("a", due: due) == .changed)
            #expect(try await fixture.score("delayed", "a") == due.milliseconds * 4096)
            let hash = try await fixture.hash("a")
            #expect(hash["delay"] == "29000")
            #expect(hash["opts"] == #"{"attempts":2,"jobId":"a","delay":30000}"#)
            #expect(try await fixture.queue.changeDelay("none", due: due) == .missing)
            fixture.clock.advance(by: .seconds(30))
            #expect(try await fixture.consumer.claim(limit: 1).jobs.count == 1)
            #expect(try await fixture.queue.changeDelay("a", due: due) == .notDelayed)
        }
    }

    @Test func `resuming merges what clients of both generations left`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.queue.pause()
            try await fixture.addPlain(2)
            _ = try await fixture.command("RPUSH", fixture.key("paused"), "y", "x")
            try await fixture.forgetEvents()
            try await fixture.queue.resume()
            #expect(try await fixture.list("wait") == ["2", "1", "y", "x"])
            #expect(try await !fixture.exists("paused"))
            #expect(try await fixture.events() == ["resumed"])
        }
    }

    @Test func `the age of the next job of each class is told`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(1)
            fixture.clock.advance(by: .seconds(5))
            _ = try await fixture.queue.addBulk([
                NewJob(name: "n", data: "1", options: JobOptions(priority: 10)),
                NewJob(name: "n", data: "1", options: JobOptions(priority: 20)),
                NewJob(name: "n", data: "1", options: JobOptions(priority: 10)),
            ])
            fixture.clock.advance(by: .seconds(2))
            #expect(
                try await fixture.queue.oldestAges() == [
                    ClassAge(priority: 0, age: .seconds(7)), ClassAge(priority: 10, age: .seconds(2)),
                    ClassAge(priority: 20, age: .seconds(2)),
                ]
            )
        }
    }

    @Test(arguments: [("", "q"), ("p", ""), ("p", "a:b")])
    func `a name that no client could use is refused`(prefix: String, name: String) {
        let error = #expect(throws: JobQueueError.self) { try QueueName(prefix: prefix, name: name) }
        #expect(error?.code == .invalidName)
    }

    @Test(arguments: [("bull", "q", false), ("{bull}", "q", true), ("bull", "{q}", true), ("{}", "q", false)])
    func `a tag keeps the queue in one slot`(prefix: String, name: String, expected: Bool) throws {
        #expect(try QueueName(prefix: prefix, name: name).hasHashTag == expected)
    }
}
