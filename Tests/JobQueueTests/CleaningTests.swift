import JobQueue
import Kernel
import RedisClient
import Testing

/// Removing jobs in numbers (B3).
struct CleaningTests {
    private func fill(_ fixture: QueueFixture) async throws {
        try await fixture.addPlain(4)
        let jobs = try await fixture.consumer.claim(limit: 3).jobs
        _ = try await fixture.consumer.finish([
            FinishedJob(jobs[0].locked, .completed(returnvalue: "1")),
            FinishedJob(jobs[1].locked, .failed(reason: "no")),
        ])
        _ = try await fixture.queue.addBulk([
            NewJob(name: "n", data: "1", options: JobOptions(priority: 4, deduplication: Deduplication(id: "d"))),
            NewJob(name: "n", data: "1", options: JobOptions(delay: .seconds(900))),
        ])
    }

    @Test func `draining takes what waits, and leaves schedulers alive`() async throws {
        try await QueueFixture.run { fixture in
            try await fill(fixture)
            try await fixture.addPlain(1100)
            _ = try await fixture.queue.upsertScheduler(
                "s",
                Schedule(.every(.seconds(9))),
                job: NewJob(name: "n", data: "1")
            )
            #expect(try await fixture.queue.drain() == 1102)
            let counts = try await fixture.queue.counts()
            #expect(counts == JobCounts(waiting: 1, active: 1, delayed: 1, completed: 1, failed: 1))
            #expect(try await !fixture.exists("5"))
            #expect(try await !fixture.exists("de:d"))
            #expect(try await fixture.queue.drain(delayed: true) == 1)
            #expect(try await fixture.list("wait") == ["repeat:s:\(QueueFixture.start.milliseconds)"])
        }
    }

    @Test(arguments: JobQueue.CleanableState.allCases)
    func `cleaning takes the old ones of one state`(state: JobQueue.CleanableState) async throws {
        try await QueueFixture.run { fixture in
            try await fill(fixture)
            _ = try await fixture.queue.addFlow(
                FlowJob(NewJob(name: "p", data: "1"), children: [FlowJob(NewJob(name: "c", data: "1"))])
            )
            let before = try await fixture.queue.counts()
            fixture.clock.advance(by: .seconds(60))
            #expect(try await fixture.queue.clean(state, grace: .seconds(61)) == 0)
            #expect(try await fixture.queue.counts() == before)
            try await fixture.forgetEvents()
            let expected = [JobQueue.CleanableState.active: 0, .paused: 0, .wait: 2][state] ?? 1
            #expect(try await fixture.queue.clean(state, grace: .seconds(60)) == expected)
            #expect(
                try await fixture.events().filter { $0.hasPrefix("cleaned") }
                    == (expected > 0 ? ["cleaned count=\(expected)"] : [])
            )
            if state == .active {
                _ = try await fixture.command("DEL", fixture.key("3:lock"))
                #expect(try await fixture.queue.clean(.active, grace: .seconds(60)) == 1)
            }
        }
    }

    @Test func `cleaning stops at its limit and finds old ones behind new ones`() async throws {
        try await QueueFixture.run { fixture in
            let old = JobOptions(timestamp: QueueFixture.start - .seconds(100))
            _ = try await fixture.queue.addBulk((0..<600).map { _ in NewJob(name: "new", data: "1") })
            _ = try await fixture.queue.addBulk((0..<600).map { _ in NewJob(name: "old", data: "1", options: old) })
            #expect(try await fixture.queue.clean(.wait, grace: .seconds(50), limit: 100) == 100)
            #expect(try await fixture.queue.clean(.wait, grace: .seconds(50)) == 500)
            #expect(try await fixture.list("wait") == (1...600).reversed().map { String($0) })
        }
    }

    @Test func `a queue is obliterated only when it is paused and at rest`() async throws {
        try await QueueFixture.run { fixture in
            try await fill(fixture)
            try await fixture.addPlain(1200)
            _ = try await fixture.queue.addFlow(
                FlowJob(NewJob(name: "p", data: "1"), children: [FlowJob(NewJob(name: "c", data: "1"))])
            )
            _ = try await fixture.queue.upsertScheduler(
                "s",
                Schedule(.every(.seconds(9))),
                job: NewJob(name: "n", data: "1")
            )
            let open = await #expect(throws: JobQueueError.self) { try await fixture.queue.obliterate() }
            #expect(open?.code == .notPaused)
            try await fixture.queue.pause()
            let active = await #expect(throws: JobQueueError.self) { try await fixture.queue.obliterate() }
            #expect(active?.code == .jobsActive)
            try await fixture.queue.obliterate(force: true)
            #expect(try await fixture.command("KEYS", fixture.key("*")).array == [])
        }
    }

    @Test func `the sweeper removes by age and number though no job ends`() async throws {
        try await QueueFixture.run(options: .init(keptCompleted: 700, completedAge: .seconds(60))) { fixture in
            // Kept by their own wish: nobody's end will remove them.
            let keep = JobOptions(removeOnComplete: .keepAll)
            _ = try await fixture.queue.addBulk((0..<1300).map { _ in NewJob(name: "n", data: "1", options: keep) })
            for _ in 0..<2 {
                let jobs = try await fixture.consumer.claim(limit: 1000).jobs
                _ = try await fixture.consumer.finish(
                    jobs.map { FinishedJob($0.locked, .completed(returnvalue: "1")) }
                )
            }
            #expect(try await fixture.queue.counts().completed == 1300)
            #expect(try await fixture.consumer.maintain().swept == 600)
            #expect(try await fixture.queue.counts().completed == 700)
            fixture.clock.advance(by: .seconds(61))
            #expect(try await fixture.consumer.maintain().swept == 700)
            #expect(try await fixture.command("KEYS", fixture.key("1*")).array == [])
        }
    }
}
