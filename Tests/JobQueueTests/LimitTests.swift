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
}
