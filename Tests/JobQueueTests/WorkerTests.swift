import JobQueue
import Kernel
import RedisClient
import Testing

/// A worker with a handler: what it makes of what the handler returns and throws (B3).
@Suite(.timeLimit(.minutes(1)))
struct WorkerTests {
    @Test func `every job is run once and its return value kept`() async throws {
        try await QueueFixture.live { fixture in
            let ids = try await fixture.addPlain(500)
            let seen = Record<String>()
            try await fixture.working { context in
                seen.add(context.job.id)
                return context.job.data
            } _: { worker in
                try await fixture.eventually(\.completed, 500)
                #expect(worker.lastAnsweredClaim != nil)
            }
            #expect(seen.all.sorted() == ids.sorted())
            let hash = try await fixture.hash("17")
            #expect(hash["returnvalue"] == #"{"i":16}"#)
            #expect(hash["atm"] == "1")
            #expect(hash["pb"] == "w")
            #expect(try await fixture.expectAtRest(jobs: 500))
        }
    }

    @Test func `one handler at a time keeps the order of the line`() async throws {
        try await QueueFixture.live { fixture in
            let ids = try await fixture.addPlain(300)
            let seen = Record<String>()
            try await fixture.working(.single) { context in
                seen.add(context.job.id)
                await Task.yield()
                return "null"
            } _: { _ in
                try await fixture.eventually(\.completed, 300)
            }
            #expect(seen.all == ids)
        }
    }

    @Test func `no more handlers run than allowed, and all places are used`() async throws {
        try await QueueFixture.live { fixture in
            try await fixture.addPlain(60)
            let started = Record<Int>()
            let gate = Latch()
            try await fixture.working(.init(name: "w", concurrency: 5)) { _ in
                started.add(1)
                await gate.wait()
                return "null"
            } _: { worker in
                try await eventually { started.count == 5 }
                // Were there a sixth place, the claim that looks after delayed jobs would fill it.
                #expect(try await fixture.queue.counts().active == 5)
                #expect(worker.runningCount == 5)
                gate.open()
                try await fixture.eventually(\.completed, 60)
            }
            #expect(started.count == 60)
        }
    }

    @Test func `quick and slow handlers share the places`() async throws {
        try await QueueFixture.live { fixture in
            try await fixture.addPlain(40)
            let gate = Latch()
            try await fixture.working(.init(name: "w", concurrency: 4)) { context in
                if ["1", "2", "3"].contains(context.job.id) { await gate.wait() }
                return "null"
            } _: { _ in
                try await fixture.eventually(\.completed, 37)
                gate.open()
                try await fixture.eventually(\.completed, 40)
            }
        }
    }

    @Test func `a failed attempt is repeated until the attempts are used up, with reason and traces`() async throws {
        try await QueueFixture.live { fixture in
            _ = try await fixture.queue.add(
                NewJob(
                    name: "n",
                    data: "1",
                    options: JobOptions(attempts: 3, backoff: .exponential(.milliseconds(5)))
                )
            )
            try await fixture.working { context in
                throw HandlerFailure("attempt \(context.job.attemptsStarted)")
            } _: { _ in
                try await fixture.eventually(\.failed, 1)
            }
            let hash = try await fixture.hash("1")
            #expect(hash["atm"] == "3")
            #expect(hash["ats"] == "3")
            #expect(hash["failedReason"] == "attempt 3")
            #expect(
                try JSONValue(parsing: hash["stacktrace"] ?? "") == [
                    "HandlerFailure: attempt 1", "HandlerFailure: attempt 2", "HandlerFailure: attempt 3",
                ]
            )
            let kinds = try await fixture.events().compactMap { $0.split(separator: " ").first }
            #expect(
                kinds == [
                    "added", "waiting", "active", "delayed", "waiting", "active", "delayed", "waiting", "active",
                    "failed", "retries-exhausted", "drained",
                ]
            )
        }
    }

    @Test func `an attempt without backoff is repeated behind those that wait`() async throws {
        try await QueueFixture.live { fixture in
            let twice = NewJob(name: "n", data: "1", options: JobOptions(attempts: 2))
            let ids = try await fixture.queue.addBulk([twice, twice, NewJob(name: "n", data: "2")]).map(\.id)
            let seen = Record<String>()
            try await fixture.working(.single) { context in
                seen.add(context.job.id)
                if context.job.attemptsMade == 0, context.job.data == "1" { throw HandlerFailure() }
                return "null"
            } _: { _ in
                try await fixture.eventually(\.completed, 3)
            }
            #expect(seen.all == ids + ids[0...1])
            #expect(try await fixture.hash("1")["atm"] == "2")
        }
    }

    @Test func `a repeated attempt keeps priority, and lifo makes it the next one`() async throws {
        try await QueueFixture.live { fixture in
            func job(_ name: String, priority: Int = 0, lifo: Bool = false) -> NewJob {
                NewJob(name: name, data: "1", options: JobOptions(priority: priority, lifo: lifo, attempts: 2))
            }
            _ = try await fixture.queue.addBulk([
                job("a", priority: 3), job("b", priority: 3), job("c"), job("d", lifo: true),
            ])
            let seen = Record<String>()
            try await fixture.working(.single) { context in
                seen.add(context.job.name)
                if context.job.attemptsMade == 0, ["a", "d"].contains(context.job.name) { throw HandlerFailure() }
                return "null"
            } _: { _ in
                try await fixture.eventually(\.completed, 4)
            }
            #expect(seen.all == ["d", "d", "c", "a", "b", "a"])
        }
    }

    @Test func `an unrecoverable failure ends the job at its first attempt`() async throws {
        try await QueueFixture.live { fixture in
            _ = try await fixture.queue.add(NewJob(name: "n", data: "1", options: JobOptions(attempts: 5)))
            try await fixture.working { _ in
                throw UnrecoverableFailure("no such device")
            } _: { _ in
                try await fixture.eventually(\.failed, 1)
            }
            let hash = try await fixture.hash("1")
            #expect(hash["atm"] == "1")
            #expect(hash["failedReason"] == "no such device")
            let events = try await fixture.events()
            #expect(!events.contains { $0.hasPrefix("retries-exhausted") })
        }
    }

    @Test func `a job that moves itself runs again at its time, and no attempt is counted`() async throws {
        try await QueueFixture.live { fixture in
            try await fixture.addPlain(1)
            let seen = Record<Timestamp>()
            try await fixture.working { context in
                let now = SystemWallClock().now
                if seen.add(now) == 1 { throw DelayedJob(until: now + .milliseconds(50)) }
                return "null"
            } _: { _ in
                try await fixture.eventually(\.completed, 1)
            }
            #expect(seen.all[1] >= seen.all[0] + .milliseconds(50))
            let hash = try await fixture.hash("1")
            #expect(hash["atm"] == "1")
            #expect(hash["ats"] == "2")
            #expect(hash["failedReason"] == nil)
        }
    }

    @Test func `a job that shall fail is failed without being run`() async throws {
        try await QueueFixture.live { fixture in
            try await fixture.addPlain(1)
            _ = try await fixture.command("HSET", fixture.key("1"), "defa", "stalled too often")
            let seen = Record<String>()
            try await fixture.working { context in
                seen.add(context.job.id)
                return "null"
            } _: { _ in
                try await fixture.eventually(\.failed, 1)
            }
            #expect(seen.all.isEmpty)
            let hash = try await fixture.hash("1")
            #expect(hash["failedReason"] == "stalled too often")
            #expect(hash["defa"] == nil)
        }
    }

    @Test func `a return value that no client could read fails the job`() async throws {
        try await QueueFixture.live { fixture in
            try await fixture.addPlain(1)
            try await fixture.working { _ in
                "{not json"
            } _: { _ in
                try await fixture.eventually(\.failed, 1)
            }
            #expect(try await fixture.hash("1")["failedReason"] == "the handler's return value is no JSON")
        }
    }

    @Test func `a handler tells its progress and writes to the job's log`() async throws {
        try await QueueFixture.live { fixture in
            _ = try await fixture.command(
                "HSET",
                fixture.key("a"),
                "name",
                "n",
                "data",
                "{}",
                "opts",
                #"{"kl":2}"#
            )
            _ = try await fixture.command("LPUSH", fixture.key("wait"), "a")
            try await fixture.working { context in
                try await context.updateProgress(#"{"step":1}"#)
                for row in ["one", "two"] { try await context.log(row) }
                let kept = try await context.log("three")
                await #expect(throws: JobQueueError.self) { try await context.updateProgress("no json") }
                return "\(kept ?? 0)"
            } _: { _ in
                try await fixture.eventually(\.completed, 1)
            }
            let hash = try await fixture.hash("a")
            #expect(hash["progress"] == #"{"step":1}"#)
            #expect(hash["returnvalue"] == "2")
            #expect(try await fixture.list("a:logs") == ["two", "three"])
            #expect(try await fixture.events().contains(#"progress jobId=a data={"step":1}"#))
        }
    }

    @Test func `a delayed job starts at its time though another job is still being run`() async throws {
        try await QueueFixture.live { fixture in
            _ = try await fixture.queue.addBulk([
                NewJob(name: "long", data: "1"),
                NewJob(name: "late", data: "1", options: JobOptions(delay: .milliseconds(40))),
            ])
            let late = Latch()
            try await fixture.working(.init(name: "w", concurrency: 2)) { context in
                // The first ends only when the second has started.
                if context.job.name == "long" { await late.wait() } else { late.open() }
                return "null"
            } _: { _ in
                try await fixture.eventually(\.completed, 2)
            }
        }
    }
}
