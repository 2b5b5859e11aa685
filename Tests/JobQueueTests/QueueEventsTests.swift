import JobQueue
import Kernel
import RedisClient
import TestSupport
import Testing

/// Reading a queue's events (B3).
struct QueueEventsTests {
    @Test func `events are read in order, typed, from the start on and each once`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(1)
            let events = QueueEvents(queue: fixture.queue, url: fixture.redis.url)
            try await events.start()
            _ = try await fixture.queue.add(
                NewJob(name: "n", data: "1", options: JobOptions(jobID: "later", delay: .seconds(5)))
            )
            let job = try #require(try await fixture.consumer.claim(limit: 1).jobs.first)
            _ = try await fixture.queue.updateProgress("1", "7")
            _ = try await fixture.consumer.finish([FinishedJob(job.locked, .failed(reason: "no"))])
            let seen = try await events.read(upTo: .seconds(5))
            #expect(seen.map(\.kind) == [.added, .delayed, .active, .progress, .failed, .retriesExhausted, .drained])
            #expect(seen.map(\.jobID) == ["later", "later", "1", "1", "1", "1", nil])
            #expect(seen[1].due == QueueFixture.start + .seconds(5))
            #expect(seen[2].previous == "waiting")
            #expect(seen[2].due == nil)
            #expect(seen[3].progress == 7)
            #expect(seen[4].failedReason == "no")
            #expect(try await events.read(upTo: .milliseconds(1)).isEmpty)
            _ = try await fixture.command("XADD", fixture.key("events"), "*", "event", "new-thing", "jobId", "9")
            #expect(try await events.read(upTo: .seconds(5)).map(\.kind) == [.other])
            await events.close()
        }
    }

    @Test func `one read is bounded, the rest follows`() async throws {
        try await QueueFixture.run { fixture in
            let events = QueueEvents(queue: fixture.queue, url: fixture.redis.url, after: "0-0")
            try await fixture.addPlain(700)
            #expect(try await events.read(upTo: .seconds(5)).count == QueueEvents.limit)
            #expect(try await events.read(upTo: .seconds(5)).count == 400)
            await events.close()
        }
    }

    @Test func `waiting for a job ends with it, or with the time`() async throws {
        try await QueueFixture.run { fixture in
            let events = QueueEvents(queue: fixture.queue, url: fixture.redis.url)
            try await fixture.addPlain(2)
            #expect(try await events.waitUntilFinished("none", upTo: .seconds(5)) == nil)
            #expect(try await events.waitUntilFinished("2", upTo: .milliseconds(1)) == nil)
            async let waiting = events.waitUntilFinished("1", upTo: .seconds(20))
            let job = try #require(try await fixture.consumer.claim(limit: 1).jobs.first)
            _ = try await fixture.consumer.finish([FinishedJob(job.locked, .completed(returnvalue: "5"))])
            #expect(try await waiting?.returnvalue == 5)
            await events.close()
        }
    }
}
