import JobQueue
import Kernel
import RedisClient
import Testing

/// What dashboards and people read and write about jobs (B3).
struct ReadingTests {
    @Test func `jobs of a state come in pages, oldest or newest first`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(5)
            let queue = fixture.queue
            #expect(try await queue.jobs(.wait, limit: 2).map(\.id) == ["1", "2"])
            #expect(try await queue.jobs(.wait, from: 2, limit: 9).map(\.id) == ["3", "4", "5"])
            #expect(try await queue.jobs(.wait, limit: 2, order: .newestFirst).map(\.id) == ["5", "4"])
            #expect(try await queue.jobs(.wait, from: 5).isEmpty)
            let jobs = try await fixture.consumer.claim(limit: 3).jobs
            for job in jobs {
                fixture.clock.advance(by: .milliseconds(1))
                _ = try await fixture.consumer.finish([FinishedJob(job.locked, .completed(returnvalue: "[1]"))])
            }
            #expect(try await queue.jobs(.completed).map(\.id) == ["1", "2", "3"])
            let newest = try #require(try await queue.jobs(.completed, limit: 1, order: .newestFirst).first)
            #expect(newest.id == "3")
            #expect(newest.state == "completed")
            #expect(newest.returnvalue == [1])
            #expect(newest.name == "n")
            #expect(newest.data == #"{"i":2}"#)
            #expect(newest.processedBy == "w1")
            #expect(newest.timestamp == QueueFixture.start)
            #expect(newest.finishedOn == QueueFixture.start + .milliseconds(3))
            // A ghost has no fields.
            _ = try await fixture.command("DEL", fixture.key("2"))
            #expect(try await queue.jobs(.completed).map(\.id) == ["1", "3"])
        }
    }

    @Test func `ready jobs are counted for each priority`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(2)
            _ = try await fixture.queue.addBulk(
                [1, 1, 7, 2_097_151].map { NewJob(name: "n", data: "1", options: JobOptions(priority: $0)) }
            )
            #expect(
                try await fixture.queue.counts(ofPriorities: [0, 1, 2, 7, 2_097_151])
                    == [0: 2, 1: 2, 2: 0, 7: 1, 2_097_151: 1]
            )
        }
    }

    @Test func `data, progress and log are written for jobs that exist`() async throws {
        try await QueueFixture.run { fixture in
            _ = try await fixture.queue.add(NewJob(name: "n", data: "1", options: JobOptions(keepLogs: 3)))
            try await fixture.forgetEvents()
            #expect(try await fixture.queue.updateData("1", #"{"b":2}"#))
            #expect(try await fixture.queue.updateProgress("1", "42"))
            #expect(try await fixture.events() == ["progress jobId=1 data=42"])
            // Check 14 of the wire contract: five rows, three kept.
            var counts: [Int?] = []
            for row in 1...5 { counts.append(try await fixture.queue.log("1", "row \(row)")) }
            #expect(counts == [1, 2, 3, 3, 3])
            let logs = try await fixture.queue.logs(of: "1")
            #expect(logs.rows == ["row 3", "row 4", "row 5"])
            #expect(logs.count == 3)
            #expect(try await fixture.queue.logs(of: "1", from: 1, limit: 1).rows == ["row 4"])
            #expect(try await fixture.queue.log("1", "last", keep: 1) == 1)
            let job = try #require(try await fixture.queue.job("1"))
            #expect(job.data == #"{"b":2}"#)
            #expect(job.progress == 42)
            #expect(try await !fixture.queue.updateData("none", "1"))
            #expect(try await !fixture.queue.updateProgress("none", "1"))
            #expect(try await fixture.queue.log("none", "row") == nil)
            #expect(try await !fixture.exists("none:logs"))
            let error = await #expect(throws: JobQueueError.self) {
                try await fixture.queue.updateProgress("1", "{broken")
            }
            #expect(error?.code == .invalidJSON)
            #expect(try await fixture.hash("1")["progress"] == "42")
        }
    }

    @Test func `workers are found by the names of their connections`() async throws {
        try await QueueFixture.run { fixture in
            #expect(try await fixture.queue.workers().isEmpty)
            await fixture.consumer.waitForWork(upTo: .milliseconds(5), nextDue: nil)
            let workers = try await fixture.queue.workers()
            #expect(workers.map(\.name) == ["w1"])
            #expect(workers.first?.address.contains(":") == true)
        }
    }

    @Test func `metrics of BullMQ's workers are read`() async throws {
        try await QueueFixture.run { fixture in
            #expect(
                try await fixture.queue.endedPerMinute(.completed) == EndedPerMinute(total: 0, points: [], updated: nil)
            )
            _ = try await fixture.command(
                "HSET",
                fixture.key("metrics:completed"),
                "count",
                12,
                "prevTS",
                1_796_077_232_251,
                "prevCount",
                9
            )
            _ = try await fixture.command("RPUSH", fixture.key("metrics:completed:data"), 3, 0, 6)
            let read = try await fixture.queue.endedPerMinute(.completed, limit: 2)
            #expect(read == EndedPerMinute(total: 12, points: [3, 0], updated: QueueFixture.start))
        }
    }
}
