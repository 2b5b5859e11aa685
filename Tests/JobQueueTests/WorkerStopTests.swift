import JobQueue
import Kernel
import RedisClient
import TestSupport
import Testing

/// How a worker stops: nothing is lost, and what it cannot end is the next job of others at once (E10).
@Suite(.timeLimit(.minutes(1)))
struct WorkerStopTests {
    private func start(
        _ fixture: QueueFixture,
        _ options: JobWorker.Options,
        handler: @escaping JobWorker.Handler
    ) -> (stop: Latch, run: Task<Void, any Error>) {
        let worker = JobWorker(
            queue: fixture.queue,
            redis: fixture.redis.client,
            blockingURL: fixture.redis.url,
            options: options,
            handler: handler
        )
        let stop = Latch()
        return (stop, Task { try await worker.run { await stop.wait() } })
    }

    @Test func `handlers may end within the grace`() async throws {
        try await QueueFixture.live { fixture in
            try await fixture.addPlain(3)
            let gate = Latch()
            let started = Record<Int>()
            let (stop, run) = start(fixture, .init(name: "w", concurrency: 2, stopGrace: .seconds(30))) { _ in
                started.add(1)
                await gate.wait()
                return "null"
            }
            try await eventually { started.count == 2 }
            stop.open()
            gate.open()
            try await run.value
            // The third may have been taken before the stop was seen.
            #expect(try await fixture.queue.counts().completed >= 2)
            #expect(try await fixture.expectAtRest(jobs: 3))
        }
    }

    @Test func `handlers that heed their cancellation have their jobs given back without an attempt`() async throws {
        try await QueueFixture.live { fixture in
            try await fixture.addPlain(4)
            let started = Record<Int>()
            let (stop, run) = start(fixture, .init(name: "w", concurrency: 3, stopGrace: .milliseconds(20))) { _ in
                started.add(1)
                try await Task.sleep(for: .seconds(3600))
                return "null"
            }
            try await eventually { started.count == 3 }
            stop.open()
            try await run.value
            #expect(try await fixture.queue.counts() == JobCounts(waiting: 4))
            #expect(try await fixture.hash("1")["atm"] == nil)
            #expect(try await fixture.hash("1")["failedReason"] == nil)
            #expect(try await fixture.expectAtRest(jobs: 4))
        }
    }

    @Test func `a handler that ignores its cancellation keeps neither the stop nor its job`() async throws {
        try await QueueFixture.live { fixture in
            try await fixture.addPlain(1)
            let gate = Latch()
            let started = Latch()
            let ended = Latch()
            let (stop, run) = start(fixture, .init(name: "w", stopGrace: .milliseconds(20))) { _ in
                started.open()
                await gate.wait()
                ended.open()
                return "\"too late\""
            }
            await started.wait()
            stop.open()
            try await run.value
            #expect(try await fixture.list("wait") == ["1"])
            gate.open()
            await ended.wait()
            #expect(try await fixture.hash("1")["returnvalue"] == nil)
            #expect(try await fixture.expectAtRest(jobs: 1))
        }
    }

    @Test func `an idle worker stops at once, and cancelling its task is a stop`() async throws {
        try await QueueFixture.live { fixture in
            let worker = JobWorker(
                queue: fixture.queue,
                redis: fixture.redis.client,
                blockingURL: fixture.redis.url,
                options: .init(name: "w")
            ) { _ in "null" }
            let run = Task {
                try await worker.run { while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) } }
            }
            try await eventually { worker.lastAnsweredClaim != nil }
            run.cancel()
            try await run.value
        }
    }

    @Test func `what one worker gives back another finishes`() async throws {
        try await QueueFixture.live { fixture in
            try await fixture.addPlain(200)
            let runs = Record<String>()
            let (stop, run) = start(fixture, .init(name: "w1", concurrency: 20, stopGrace: .zero)) { context in
                runs.add(context.job.id)
                if runs.count > 50 { try await Task.sleep(for: .seconds(3600)) }
                return "null"
            }
            try await eventually { runs.count > 50 }
            stop.open()
            try await fixture.working { context in
                runs.add(context.job.id)
                return "null"
            } _: { _ in
                try await fixture.eventually(\.completed, 200)
            }
            try await run.value
            #expect(Set(runs.all).count == 200)
            #expect(try await fixture.expectAtRest(jobs: 200))
        }
    }
}
