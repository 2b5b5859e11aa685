import JobQueue
import Kernel
import RedisClient
import Testing

/// Schedulers: jobs that come again and again (B3).
struct SchedulerTests {
    private let job = NewJob(name: "tick", data: #"{"a":1}"#, options: JobOptions(priority: 2, attempts: 3))

    private func finish(_ fixture: QueueFixture, _ jobs: [ClaimedJob]) async throws {
        _ = try await fixture.consumer.finish(jobs.map { FinishedJob($0.locked, .completed(returnvalue: "1")) })
    }

    @Test func `an interval runs at once, then keeps its beat`() async throws {
        try await QueueFixture.run { fixture in
            let start = QueueFixture.start.milliseconds
            let first = try await fixture.queue.upsertScheduler("s", Schedule(.every(.seconds(10))), job: job)
            #expect(first == QueueFixture.start)
            #expect(try await fixture.hash("repeat:s")["offset"] == String(start % 10_000))
            let run = try #require(try await fixture.consumer.claim(limit: 5).jobs.first)
            #expect(run.id == "repeat:s:\(start)")
            #expect(run.data == job.data)
            #expect(run.priority == 2)
            #expect(run.options["attempts"]?.integerValue == 3)
            #expect(run.options["repeat"]?["count"]?.integerValue == 1)
            #expect(run.options["repeatJobKey"] == "s")
            let next = "repeat:s:\(start + 10_000)"
            #expect(try await fixture.score("delayed", next) == (start + 10_000) * 4096)
            #expect(try await fixture.score("repeat", "s") == start + 10_000)
            #expect(try await fixture.hash(next)["rjk"] == "s")
            #expect(try await fixture.hash("repeat:s")["ic"] == "2")
            try await finish(fixture, [run])

            // Three and a half beats later: what was missed is not made up for.
            fixture.clock.advance(by: .seconds(45))
            let late = try await fixture.consumer.claim(limit: 5).jobs
            #expect(late.map(\.id) == [next])
            #expect(late.first?.options["repeat"]?["count"]?.integerValue == 2)
            #expect(try await fixture.score("repeat", "s") == start + 50_000)
        }
    }

    @Test func `a pattern runs when it says`() async throws {
        try await QueueFixture.run { fixture in
            let first = try await fixture.queue.upsertScheduler("c", Schedule(.pattern("*/5 * * * *")), job: job)
            #expect(first.milliseconds % 300_000 == 0)
            #expect(first > QueueFixture.start)
            #expect(try await fixture.consumer.claim(limit: 5).jobs.isEmpty)
            fixture.clock.advance(by: first - QueueFixture.start)
            #expect(try await fixture.consumer.claim(limit: 5).jobs.map(\.id) == ["repeat:c:\(first.milliseconds)"])
            let scheduler = try #require(try await fixture.queue.scheduler("c"))
            #expect(scheduler.next == first + .seconds(300))
            #expect(scheduler.iterations == 2)
            #expect(scheduler.timeZone == "UTC")
            #expect(scheduler.schedule == Schedule(.pattern("*/5 * * * *")))
        }
    }

    @Test func `a run that was promoted by hand is not planned again`() async throws {
        try await QueueFixture.run { fixture in
            let first = try await fixture.queue.upsertScheduler("c", Schedule(.pattern("*/5 * * * *")), job: job)
            #expect(try await fixture.queue.promote("repeat:c:\(first.milliseconds)") == .promoted)
            #expect(try await fixture.consumer.claim(limit: 5).jobs.count == 1)
            #expect(try await fixture.queue.scheduler("c")?.next == first + .seconds(300))
        }
    }

    @Test func `limit and end stop a scheduler`() async throws {
        try await QueueFixture.run { fixture in
            let start = QueueFixture.start
            _ = try await fixture.queue.upsertScheduler(
                "limited",
                Schedule(.every(.seconds(1)), limit: 2),
                job: job
            )
            _ = try await fixture.queue.upsertScheduler(
                "ending",
                Schedule(.every(.seconds(1)), startDate: start + .seconds(1), endDate: start + .seconds(2)),
                job: job
            )
            var runs: [String] = []
            for _ in 0..<6 {
                let jobs = try await fixture.consumer.claim(limit: 10).jobs
                runs += jobs.map(\.id)
                try await finish(fixture, jobs)
                fixture.clock.advance(by: .seconds(1))
            }
            #expect(runs.filter { $0.hasPrefix("repeat:limited") }.count == 2)
            #expect(runs.filter { $0.hasPrefix("repeat:ending") }.count == 2)
            #expect(try await fixture.queue.counts().delayed == 0)
            // Maintenance does not take an end for an accident.
            fixture.clock.advance(by: .seconds(600))
            #expect(try await fixture.consumer.maintain().revivedSchedulers == 0)
        }
    }

    @Test func `whoever plans, there is one next run`() async throws {
        try await QueueFixture.run { fixture in
            _ = try await fixture.queue.upsertScheduler("s", Schedule(.every(.seconds(1))), job: job)
            let run = try #require(try await fixture.consumer.claim(limit: 1).jobs.first)
            // The same run is taken again by others, as after a stall, all at once.
            _ = try await fixture.command("DEL", fixture.key("\(run.id):lock"))
            let consumers = (0..<8).map { _ in fixture.otherConsumer() }
            for _ in consumers { _ = try await fixture.command("RPUSH", fixture.key("wait"), .string(run.id)) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for consumer in consumers { group.addTask { _ = try await consumer.claim(limit: 1) } }
                try await group.waitForAll()
            }
            #expect(try await fixture.queue.counts().delayed == 1)
            #expect(try await fixture.hash("repeat:s")["ic"] == "2")
            for consumer in consumers { await consumer.close() }
        }
    }

    @Test func `an upsert replaces the run that waits, and keeps to one`() async throws {
        try await QueueFixture.run { fixture in
            let start = QueueFixture.start
            let later = Schedule(.every(.seconds(10)), startDate: start + .seconds(5))
            _ = try await fixture.queue.upsertScheduler("s", later, job: job)
            let again = try await fixture.queue.upsertScheduler(
                "s",
                Schedule(.every(.seconds(3), offset: .zero)),
                job: NewJob(name: "other", data: "2")
            )
            #expect(again.milliseconds % 3000 == 0)
            #expect(again >= start)
            #expect(try await fixture.queue.counts().delayed == 1)
            let scheduler = try #require(try await fixture.queue.schedulers().first)
            #expect(scheduler.name == "other")
            #expect(scheduler.schedule == Schedule(.every(.seconds(3), offset: .zero)))
            #expect(try await fixture.queue.remove("repeat:s:\(again.milliseconds)") == .scheduled)
        }
    }

    @Test func `a run that is active is left alone by an upsert and by removing`() async throws {
        try await QueueFixture.run { fixture in
            _ = try await fixture.queue.upsertScheduler("s", Schedule(.every(.seconds(10))), job: job)
            let run = try #require(try await fixture.consumer.claim(limit: 1).jobs.first)
            fixture.clock.advance(by: .seconds(1))
            _ = try await fixture.queue.upsertScheduler("s", Schedule(.every(.seconds(20))), job: job)
            #expect(try await fixture.queue.counts() == JobCounts(active: 1, prioritized: 1))
            #expect(try await fixture.queue.removeScheduler("s"))
            #expect(try await !fixture.queue.removeScheduler("s"))
            #expect(try await fixture.queue.counts() == JobCounts(active: 1))
            try await finish(fixture, [run])
            #expect(try await fixture.queue.counts() == JobCounts(completed: 1))
            #expect(try await fixture.queue.schedulers().isEmpty)
        }
    }

    @Test func `the id of another job is not overwritten`() async throws {
        try await QueueFixture.run { fixture in
            let schedule = Schedule(.pattern("*/5 * * * *"))
            let first = try await fixture.queue.upsertScheduler("s", schedule, job: job)
            _ = try await fixture.queue.removeScheduler("s")
            _ = try await fixture.command("HSET", fixture.key("repeat:s:\(first.milliseconds)"), "name", "foreign")
            let collision = await #expect(throws: JobQueueError.self) {
                try await fixture.queue.upsertScheduler("s", schedule, job: job)
            }
            #expect(collision?.code == .schedulerCollision)
            #expect(try await !fixture.exists("repeat:s"))

            let beat = Schedule(.every(.seconds(10)))
            let now = QueueFixture.start.milliseconds
            _ = try await fixture.command("HSET", fixture.key("repeat:e:\(now)"), "name", "foreign")
            #expect(
                try await fixture.queue.upsertScheduler("e", beat, job: job) == QueueFixture.start + .seconds(10)
            )
            _ = try await fixture.queue.removeScheduler("e")
            _ = try await fixture.command("HSET", fixture.key("repeat:e:\(now + 10_000)"), "name", "foreign")
            let busy = await #expect(throws: JobQueueError.self) {
                try await fixture.queue.upsertScheduler("e", beat, job: job)
            }
            #expect(busy?.code == .schedulerBusy)
        }
    }

    @Test func `a scheduler whose worker died before planning goes on`() async throws {
        try await QueueFixture.run { fixture in
            _ = try await fixture.queue.upsertScheduler("s", Schedule(.every(.seconds(10))), job: job)
            let id = "repeat:s:\(QueueFixture.start.milliseconds)"
            // What such a worker leaves: a run that ended, and `repeat` still naming it.
            _ = try await fixture.command("DEL", fixture.key("prioritized"))
            _ = try await fixture.command(
                "ZADD",
                fixture.key("completed"),
                .integer(QueueFixture.start.milliseconds),
                .string(id)
            )
            #expect(try await fixture.consumer.maintain().revivedSchedulers == 0)
            fixture.clock.advance(by: .seconds(61))
            #expect(try await fixture.consumer.maintain().revivedSchedulers == 1)
            #expect(try await fixture.queue.counts().delayed == 1)
            #expect(try await fixture.consumer.maintain().revivedSchedulers == 0)
        }
    }

    @Test func `a foreign time zone is not guessed: the run is done, none follows`() async throws {
        try await QueueFixture.run { fixture in
            let first = try await fixture.queue.upsertScheduler("s", Schedule(.pattern("* * * * *")), job: job)
            _ = try await fixture.command("HSET", fixture.key("repeat:s"), "tz", "Europe/Berlin")
            fixture.clock.advance(by: first - QueueFixture.start)
            let jobs = try await fixture.consumer.claim(limit: 1).jobs
            #expect(jobs.count == 1)
            try await finish(fixture, jobs)
            #expect(try await fixture.queue.counts() == JobCounts(completed: 1))
            fixture.clock.advance(by: .seconds(600))
            #expect(try await fixture.consumer.maintain().revivedSchedulers == 0)
        }
    }

    @Test(arguments: [
        Schedule(.every(.zero)), Schedule(.pattern("nonsense")), Schedule(.every(.seconds(1)), limit: 0),
        Schedule(.every(.seconds(1)), endDate: Timestamp(milliseconds: 5)),
    ])
    func `a schedule without a run is refused`(schedule: Schedule) async throws {
        try await QueueFixture.run { fixture in
            let error = await #expect(throws: JobQueueError.self) {
                try await fixture.queue.upsertScheduler("s", schedule, job: job)
            }
            #expect(error?.code == .invalidSchedule)
            let colon = await #expect(throws: JobQueueError.self) {
                try await fixture.queue.upsertScheduler("a:b", Schedule(.every(.seconds(1))), job: job)
            }
            #expect(colon?.code == .invalidID)
        }
    }
}
