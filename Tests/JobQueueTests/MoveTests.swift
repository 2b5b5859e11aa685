import JobQueue
import Kernel
import RedisClient
import Testing

struct MoveTests {
    @Test func `a job moved to later is delayed, and the attempt counts only when it should`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(2)
            let jobs = try await fixture.consumer.claim(limit: 2).jobs
            try await fixture.forgetEvents()
            let due = QueueFixture.start + .seconds(15)
            let results = try await fixture.consumer.move([
                MovedJob(jobs[0].locked, to: .delayed(until: due, skipAttempt: true)),
                MovedJob(
                    jobs[1].locked,
                    to: .delayed(until: due, skipAttempt: false),
                    failedReason: "503",
                    trace: "at apns"
                ),
            ])
            #expect(results == [.done, .done])
            #expect(try await fixture.hash("1")["atm"] == nil)
            let second = try await fixture.hash("2")
            #expect(second["atm"] == "1")
            #expect(second["failedReason"] == "503")
            #expect(second["stacktrace"] == #"["at apns"]"#)
            #expect(second["delay"] == "15000")
            #expect(try await fixture.score("marker", "1") == due.milliseconds)
            #expect(
                try await fixture.events().sorted() == [
                    "delayed jobId=1 delay=\(due.milliseconds)", "delayed jobId=2 delay=\(due.milliseconds)",
                ]
            )
            #expect(try await fixture.expectAtRest(jobs: 2))
            fixture.clock.advance(by: .seconds(15))
            let again = try await fixture.consumer.claim(limit: 2).jobs
            #expect(again.map(\.attemptsStarted) == [2, 2])
        }
    }

    @Test func `jobs given back are next in line in their order`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(4)
            _ = try await fixture.queue.addBulk(
                (0..<2).map { _ in NewJob(name: "n", data: "1", options: JobOptions(priority: 3)) }
            )
            let jobs = try await fixture.consumer.claim(limit: 3).jobs
            #expect(jobs.map(\.id) == ["1", "2", "5"])
            _ = try await fixture.command("DEL", fixture.key("marker"))
            let results = try await fixture.consumer.move(jobs.map { MovedJob($0.locked, to: .waiting) })
            #expect(results == [.done, .done, .done])
            #expect(try await fixture.list("wait") == ["4", "3", "2", "1"])
            #expect(try await fixture.sortedSet("prioritized") == ["5", "6"])
            #expect(try await fixture.score("marker", "0") == 0)
            #expect(try await fixture.hash("1")["atm"] == nil)
            #expect(try await fixture.expectAtRest(jobs: 6))
        }
    }

    @Test func `a job whose lock is lost is not moved`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(1)
            let job = try #require(try await fixture.consumer.claim(limit: 1).jobs.first)
            let results = try await fixture.consumer.move([
                MovedJob(LockedJob(id: job.id, token: "wrong"), to: .waiting)
            ])
            #expect(results == [.lockLost])
            #expect(try await fixture.list("active") == ["1"])
            #expect(try await fixture.exists("1:lock"))
        }
    }
}
