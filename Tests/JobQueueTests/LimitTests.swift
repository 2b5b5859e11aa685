import JobQueue
import Kernel
import RedisClient
import Testing

/// Pause and limits that hold for all workers of a queue together (B3).
struct LimitTests {
    @Test func `a paused queue says so`() async throws {
        try await QueueFixture.run { fixture in
            #expect(try await !fixture.queue.isPaused())
            try await fixture.queue.pause()
            #expect(try await fixture.queue.isPaused())
            try await fixture.queue.resume()
            #expect(try await !fixture.queue.isPaused())
        }
    }

    @Test func `a global concurrency holds, and loosening it calls a worker`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(5)
            try await fixture.queue.setGlobalConcurrency(2)
            #expect(try await fixture.queue.globalConcurrency() == 2)
            #expect(try await fixture.consumer.claim(limit: 5).jobs.count == 2)
            _ = try await fixture.command("DEL", fixture.key("marker"))
            try await fixture.queue.setGlobalConcurrency(3)
            #expect(try await fixture.score("marker", "0") == 0)
            #expect(try await fixture.consumer.claim(limit: 5).jobs.count == 1)
            try await fixture.queue.setGlobalConcurrency(nil)
            #expect(try await fixture.queue.globalConcurrency() == nil)
            #expect(try await fixture.consumer.claim(limit: 5).jobs.count == 2)
            let error = await #expect(throws: JobQueueError.self) { try await fixture.queue.setGlobalConcurrency(0) }
            #expect(error?.code == .tooMany)
        }
    }

    @Test func `a global rate limit holds for its window`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(9)
            let limit = QueueRateLimit(max: 2, duration: .seconds(60))
            try await fixture.queue.setGlobalRateLimit(limit)
            #expect(try await fixture.queue.globalRateLimit() == limit)
            #expect(try await fixture.queue.limitedFor() == nil)
            #expect(try await fixture.consumer.claim(limit: 5).jobs.count == 2)
            #expect(try await fixture.queue.limitedFor() != nil)
            #expect(try await fixture.consumer.claim(limit: 5).jobs.isEmpty)
            try await fixture.queue.clearRateLimitWindow()
            #expect(try await fixture.consumer.claim(limit: 5).jobs.count == 2)
            try await fixture.queue.clearRateLimitWindow()
            try await fixture.queue.holdBack(for: .seconds(30))
            let held = try await fixture.consumer.claim(limit: 5)
            #expect(held.jobs.isEmpty)
            #expect(held.limitedFor != nil)
            try await fixture.queue.setGlobalRateLimit(nil)
            #expect(try await fixture.queue.globalRateLimit() == nil)
            #expect(try await fixture.consumer.claim(limit: 9).jobs.count == 5)
        }
    }

    @Test func `a worker's own rate limit holds until the queue has one`() async throws {
        let own = JobConsumer.Options(rateLimit: QueueRateLimit(max: 3, duration: .seconds(40)))
        try await QueueFixture.run(options: own) { fixture in
            try await fixture.addPlain(20)
            #expect(try await fixture.consumer.claim(limit: 5).jobs.count == 3)
            let window = try await fixture.command("PTTL", fixture.key("limiter")).integer ?? 0
            #expect((30_001...40_000).contains(window))
            #expect(try await fixture.consumer.claim(limit: 5).jobs.isEmpty)
            // The queue's number goes before the worker's, the worker's window before the queue's.
            try await fixture.queue.setGlobalRateLimit(QueueRateLimit(max: 5, duration: .seconds(90)))
            #expect(try await fixture.consumer.claim(limit: 9).jobs.count == 2)
            try await fixture.queue.clearRateLimitWindow()
            #expect(try await fixture.consumer.claim(limit: 9).jobs.count == 5)
            #expect((try await fixture.command("PTTL", fixture.key("limiter")).integer ?? 0) <= 40_000)
        }
    }

    @Test func `a handler that was told to slow down holds back the queue, and its job is next`() async throws {
        try await QueueFixture.live { fixture in
            try await fixture.addPlain(3)
            try await fixture.queue.setGlobalRateLimit(QueueRateLimit(max: 1000, duration: .seconds(1)))
            let seen = Record<String>()
            try await fixture.working(.single) { context in
                seen.add(context.job.id)
                if seen.count == 1 { throw RateLimitedJob(for: .seconds(300)) }
                return "null"
            } _: { _ in
                try await eventually { try await fixture.queue.counts().active == 0 && seen.count == 1 }
                #expect(try await fixture.list("wait").last == "1")
                let hash = try await fixture.hash("1")
                #expect(hash["atm"] == nil)
                #expect(hash["failedReason"] == nil)
                #expect((try await fixture.queue.limitedFor() ?? .zero) > .seconds(60))
                try await fixture.queue.clearRateLimitWindow()
                try await fixture.eventually(\.completed, 3)
            }
            #expect(seen.all == ["1", "1", "2", "3"])
            #expect(try await fixture.expectAtRest(jobs: 3))
        }
    }
}
