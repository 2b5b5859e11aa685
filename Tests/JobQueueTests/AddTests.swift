import JobQueue
import Kernel
import RedisClient
import Testing

struct AddTests {
    @Test func `a plain job lies in Redis as BullMQ writes it`() async throws {
        try await QueueFixture.run { fixture in
            let data = #"{"to":"ä@x","n":1.50,"empty":[],"none":null}"#
            let result = try await fixture.queue.add(
                NewJob(
                    name: "send",
                    data: data,
                    options: JobOptions(
                        attempts: 3,
                        backoff: .exponential(.milliseconds(200)),
                        removeOnComplete: .keep(count: 1000, age: .seconds(3600)),
                        removeOnFail: .keepAll,
                        timestamp: Timestamp(milliseconds: 1_700_000_000_123)
                    )
                )
            )
            #expect(result == .added(id: "1"))
            #expect(
                try await fixture.hash("1") == [
                    "name": "send", "data": data, "timestamp": "1700000000123", "delay": "0", "priority": "0",
                    "opts":
                        #"{"attempts":3,"timestamp":1700000000123,"backoff":{"type":"exponential","delay":200},"removeOnComplete":{"count":1000,"age":3600},"removeOnFail":false}"#,
                ]
            )
            #expect(try await fixture.list("wait") == ["1"])
            #expect(try await fixture.score("marker", "0") == 0)
            #expect(try await fixture.command("GET", fixture.key("id")).int == 1)
            #expect(try await fixture.hash("meta") == ["opts.maxLenEvents": "10000"])
            #expect(try await fixture.events() == ["added jobId=1 name=send", "waiting jobId=1"])
        }
    }

    @Test func `plain jobs stand in the order they came, a lifo job is next`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(3)
            _ = try await fixture.queue.add(NewJob(name: "n", data: "1", options: JobOptions(lifo: true)))
            #expect(try await fixture.list("wait") == ["3", "2", "1", "4"])
        }
    }

    @Test func `delayed jobs of one millisecond stay in order, and the marker names the first`() async throws {
        try await QueueFixture.run { fixture in
            let later = NewJob(name: "n", data: "1", options: JobOptions(delay: .seconds(60)))
            _ = try await fixture.queue.addBulk([later, later, later])
            let due = QueueFixture.start.milliseconds + 60_000
            #expect(try await fixture.score("delayed", "1") == due * 4096)
            #expect(try await fixture.score("delayed", "3") == due * 4096 + 2)
            #expect(try await fixture.score("marker", "1") == due)
            #expect(try await fixture.score("marker", "0") == nil)
            #expect(try await fixture.hash("1")["delay"] == "60000")
            #expect(try await fixture.events().suffix(1) == ["delayed jobId=3 delay=\(due)"])
        }
    }

    @Test func `prioritized jobs are ordered by priority and then by arrival`() async throws {
        try await QueueFixture.run { fixture in
            _ = try await fixture.queue.addBulk(
                [5, 5, 1].map { NewJob(name: "n", data: "1", options: JobOptions(priority: $0)) }
            )
            #expect(try await fixture.sortedSet("prioritized") == ["3", "1", "2"])
            #expect(try await fixture.score("prioritized", "3") == 4_294_967_299)
            #expect(try await fixture.score("prioritized", "1") == 21_474_836_481)
        }
    }

    @Test func `an id that exists is a duplicate and changes nothing, also within one group`() async throws {
        try await QueueFixture.run { fixture in
            func job(_ data: String) -> NewJob {
                NewJob(name: "n", data: data, options: JobOptions(jobID: "custom"))
            }
            #expect(
                try await fixture.queue.addBulk([job("1"), job("2")])
                    == [.added(id: "custom"), .duplicate(id: "custom")]
            )
            #expect(try await fixture.queue.add(job("3")) == .duplicate(id: "custom"))
            #expect(try await fixture.hash("custom")["data"] == "1")
            #expect(try await fixture.list("wait") == ["custom"])
            let events = try await fixture.events()
            #expect(events.filter { $0 == "duplicated jobId=custom" }.count == 2)
            #expect(try await fixture.command("GET", fixture.key("id")).int == 3)
        }
    }

    @Test func `a number that a foreign producer took as its id is skipped`() async throws {
        try await QueueFixture.run { fixture in
            _ = try await fixture.command("HSET", fixture.key("2"), "name", "foreign", "data", "1")
            #expect(try await fixture.addPlain(3) == ["1", "4", "3"])
            #expect(try await fixture.hash("2")["name"] == "foreign")
        }
    }

    @Test(arguments: ["", "17", "0", "0:1", "a:b", "-5", "a\0b", String(repeating: "x", count: 513)])
    func `an id that could harm the queue is refused`(id: String) async throws {
        try await QueueFixture.run { fixture in
            let error = await #expect(throws: JobQueueError.self) {
                try await fixture.queue.add(NewJob(name: "n", data: "1", options: JobOptions(jobID: id)))
            }
            #expect(error?.code == .invalidID)
        }
    }

    @Test func `one job that is refused keeps the whole group out`() async throws {
        try await QueueFixture.run { fixture in
            let good = NewJob(name: "n", data: "1")
            for options in [
                JobOptions(priority: 2_097_152), JobOptions(priority: -1), JobOptions(delay: .seconds(500_000_000)),
            ] {
                await #expect(throws: JobQueueError.self) {
                    try await fixture.queue.addBulk([good, NewJob(name: "n", data: "1", options: options)])
                }
            }
            let counts = try await fixture.queue.counts()
            #expect(counts == JobCounts())
        }
    }

    @Test func `more jobs than a group are added in order`() async throws {
        try await QueueFixture.run { fixture in
            let ids = try await fixture.addPlain(1203)
            #expect(ids == (1...1203).map { String($0) })
            #expect(try await fixture.list("wait") == ids.reversed())
        }
    }

    @Test func `while paused no worker is called, and the job joins the list that is in use`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.queue.pause()
            try await fixture.addPlain(1)
            #expect(try await fixture.list("wait") == ["1"])
            #expect(try await fixture.score("marker", "0") == nil)
            // What a client of BullMQ 5 leaves when it pauses.
            _ = try await fixture.command("RENAME", fixture.key("wait"), fixture.key("paused"))
            try await fixture.addPlain(1)
            #expect(try await fixture.list("paused") == ["2", "1"])
            try await fixture.queue.resume()
            #expect(try await fixture.list("wait") == ["2", "1"])
            #expect(try await fixture.score("marker", "0") == 0)
        }
    }

    @Test func `the event stream stays bounded`() async throws {
        try await QueueFixture.run { fixture in
            _ = try await fixture.command("HSET", fixture.key("meta"), "opts.maxLenEvents", 500)
            for _ in 0..<10 { try await fixture.addPlain(500) }
            let length = try await fixture.command("XLEN", fixture.key("events")).int
            #expect((length ?? 0) <= 700)
        }
    }
}
