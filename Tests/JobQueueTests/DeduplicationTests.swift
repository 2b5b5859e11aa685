import JobQueue
import Kernel
import RedisClient
import Testing

/// Deduplication ids of our own jobs (B3).
struct DeduplicationTests {
    private func job(_ data: String, _ rule: Deduplication, delay: Duration = .zero) -> NewJob {
        NewJob(name: "n", data: data, options: JobOptions(delay: delay, deduplication: rule))
    }

    private func finishAll(_ fixture: QueueFixture) async throws {
        let jobs = try await fixture.consumer.claim(limit: 10).jobs
        _ = try await fixture.consumer.finish(jobs.map { FinishedJob($0.locked, .completed(returnvalue: "1")) })
    }

    @Test func `simple: the id is taken until its job ended`() async throws {
        try await QueueFixture.run { fixture in
            let rule = Deduplication(id: "d")
            #expect(try await fixture.queue.add(job("1", rule)) == .added(id: "1"))
            #expect(try await fixture.queue.add(job("2", rule)) == .deduplicated(id: "1"))
            #expect(try await fixture.hash("1")["deid"] == "d")
            #expect(try await fixture.hash("1")["opts"] == #"{"attempts":0,"de":{"id":"d"}}"#)
            #expect(
                try await fixture.events().suffix(1)
                    == ["deduplicated jobId=1 deduplicationId=d deduplicatedJobId=2"]
            )
            #expect(try await fixture.queue.owner(ofDeduplicationID: "d") == "1")
            try await finishAll(fixture)
            #expect(try await fixture.queue.add(job("3", rule)) == .added(id: "3"))
        }
    }

    @Test func `throttle: the id is taken for its time, whenever the job ends`() async throws {
        try await QueueFixture.run { fixture in
            let rule = Deduplication(id: "d", ttl: .seconds(60))
            _ = try await fixture.queue.add(job("1", rule))
            try await finishAll(fixture)
            #expect(try await fixture.queue.add(job("2", rule)) == .deduplicated(id: "1"))
            let rest = try await fixture.command("PTTL", fixture.key("de:d")).int ?? 0
            #expect(rest > 50_000 && rest <= 60_000)
        }
    }

    @Test func `extend: every later job starts the time anew`() async throws {
        try await QueueFixture.run { fixture in
            let rule = Deduplication(id: "d", ttl: .seconds(60), extend: true)
            _ = try await fixture.queue.add(job("1", rule))
            _ = try await fixture.command("PEXPIRE", fixture.key("de:d"), 5000)
            #expect(try await fixture.queue.add(job("2", rule)) == .deduplicated(id: "1"))
            #expect(try await fixture.command("PTTL", fixture.key("de:d")).int ?? 0 > 50_000)
            #expect(try await fixture.queue.owner(ofDeduplicationID: "d") == "1")
        }
    }

    @Test func `replace: a later job takes the place of one that is delayed`() async throws {
        try await QueueFixture.run { fixture in
            let rule = Deduplication(id: "d", ttl: .seconds(60), replace: true)
            _ = try await fixture.queue.add(job("1", rule, delay: .seconds(9)))
            _ = try await fixture.command("PEXPIRE", fixture.key("de:d"), 5000)
            try await fixture.forgetEvents()
            #expect(try await fixture.queue.add(job("2", rule, delay: .seconds(9))) == .added(id: "2"))
            #expect(try await !fixture.exists("1"))
            #expect(try await fixture.sortedSet("delayed") == ["2"])
            #expect(
                try await fixture.events().prefix(3) == [
                    "removed jobId=1 prev=delayed", "deduplicated jobId=2 deduplicationId=d deduplicatedJobId=1",
                    "added jobId=2 name=n",
                ]
            )
            // Without `extend` the time that was left stays.
            #expect(try await fixture.command("PTTL", fixture.key("de:d")).int ?? 0 <= 5000)
            _ = try await fixture.queue.promote("2")
            #expect(try await fixture.queue.add(job("3", rule, delay: .seconds(9))) == .deduplicated(id: "2"))
        }
    }

    @Test func `debounce: replace and extend together`() async throws {
        try await QueueFixture.run { fixture in
            let rule = Deduplication(id: "d", ttl: .seconds(60), extend: true, replace: true)
            _ = try await fixture.queue.add(job("1", rule, delay: .seconds(9)))
            _ = try await fixture.command("PEXPIRE", fixture.key("de:d"), 5000)
            #expect(try await fixture.queue.add(job("2", rule, delay: .seconds(9))) == .added(id: "2"))
            #expect(try await fixture.command("PTTL", fixture.key("de:d")).int ?? 0 > 50_000)
        }
    }

    @Test func `keepLastIfActive: exactly one more run, with the newest data (check 16)`() async throws {
        try await QueueFixture.run { fixture in
            let rule = Deduplication(id: "d", ttl: .seconds(60), keepLastIfActive: true)
            _ = try await fixture.queue.add(job("1", rule))
            #expect(try await fixture.command("PTTL", fixture.key("de:d")).int == -1)
            #expect(try await fixture.queue.add(job("11", rule)) == .deduplicated(id: "1"))
            let first = try await fixture.consumer.claim(limit: 10).jobs
            #expect(first.map(\.data) == ["1"])
            for data in ["2", "3", "4"] {
                #expect(try await fixture.queue.add(job(data, rule)) == .deduplicated(id: "1"))
            }
            _ = try await fixture.consumer.finish([FinishedJob(first[0].locked, .failed(reason: "no"))])
            let second = try await fixture.consumer.claim(limit: 10).jobs
            #expect(second.map(\.data) == ["4"])
            #expect(try await fixture.queue.owner(ofDeduplicationID: "d") == second[0].id)
            _ = try await fixture.consumer.finish([FinishedJob(second[0].locked, .completed(returnvalue: "1"))])
            #expect(try await fixture.consumer.claim(limit: 10).jobs.isEmpty)
            #expect(try await !fixture.exists("de:d"))
        }
    }

    @Test func `an id whose owner is gone is taken over`() async throws {
        try await QueueFixture.run { fixture in
            _ = try await fixture.command("SET", fixture.key("de:d"), "lost")
            _ = try await fixture.command("HSET", fixture.key("dn:d"), "name", "old")
            #expect(try await fixture.queue.add(job("1", Deduplication(id: "d"))) == .added(id: "1"))
            #expect(try await !fixture.exists("dn:d"))
            // One with a time is no lost one: its job may have been removed at once.
            _ = try await fixture.command("SET", fixture.key("de:e"), "lost", "PX", 60_000)
            #expect(
                try await fixture.queue.add(job("1", Deduplication(id: "e", ttl: .seconds(60))))
                    == .deduplicated(id: "lost")
            )
        }
    }

    @Test func `removing the owner frees the id`() async throws {
        try await QueueFixture.run { fixture in
            let rule = Deduplication(id: "d", ttl: .seconds(60))
            _ = try await fixture.queue.add(job("1", rule))
            #expect(try await fixture.queue.remove("1") == .removed)
            #expect(try await fixture.queue.add(job("2", rule)) == .added(id: "2"))
            #expect(try await fixture.queue.freeDeduplicationID("d"))
            #expect(try await !fixture.queue.freeDeduplicationID("d"))
            #expect(try await fixture.queue.add(job("3", rule)) == .added(id: "3"))
        }
    }

    @Test func `a group of plain and related jobs keeps its order`() async throws {
        try await QueueFixture.run { fixture in
            let plain = NewJob(name: "n", data: "0")
            let rule = Deduplication(id: "d")
            let results = try await fixture.queue.addBulk([
                plain, job("1", rule), job("2", rule), plain, job("3", Deduplication(id: "e")),
            ])
            #expect(
                results == [
                    .added(id: "1"), .added(id: "2"), .deduplicated(id: "2"), .added(id: "4"), .added(id: "5"),
                ]
            )
            #expect(try await fixture.list("wait") == ["5", "4", "2", "1"])
        }
    }

    @Test(arguments: [
        JobOptions(deduplication: Deduplication(id: "")), JobOptions(deduplication: Deduplication(id: "d", ttl: .zero)),
        JobOptions(deduplication: Deduplication(id: "d", extend: true)),
    ])
    func `a deduplication that cannot be is refused`(options: JobOptions) async throws {
        try await QueueFixture.run { fixture in
            let error = await #expect(throws: JobQueueError.self) {
                try await fixture.queue.addBulk([
                    NewJob(name: "n", data: "1"), NewJob(name: "n", data: "1", options: options),
                ])
            }
            #expect(error?.code == .invalidDeduplication)
            let counts = try await fixture.queue.counts()
            #expect(counts == JobCounts())
        }
    }
}
