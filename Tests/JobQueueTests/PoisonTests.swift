import JobQueue
import Kernel
import RedisClient
import TestSupport
import Testing

/// A job as a stranger may leave it in Redis.
struct Poison: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let id: String
    let fields: [String: String]
    /// Whether the handler fails it, which makes the worker read its options and counters.
    let fails: Bool

    init(_ description: String, id: String = "bad", _ fields: [String: String], fails: Bool = false) {
        testDescription = description
        self.id = id
        self.fields = fields
        self.fails = fails
    }

    private static func options(_ text: String) -> Poison {
        Poison("opts \(text.prefix(60))", ["name": "n", "data": "1", "opts": text], fails: true)
    }

    private static func field(_ name: String, _ value: String, fails: Bool = true) -> Poison {
        Poison(
            "\(name) \(value.prefix(40))",
            ["name": "n", "data": "1", "opts": #"{"attempts":2}"#].merging([name: value]) { _, new in new },
            fails: fails
        )
    }

    static let all: [Poison] =
        [
            "{", "", "null", "[]", "17", "\"x\"", #"{"attempts":"x","backoff":[1]}"#, #"{"attempts":{}}"#,
            #"{"attempts":2,"backoff":{"type":7,"delay":"x"}}"#, #"{"attempts":2,"backoff":{"delay":-1e300}}"#,
            #"{"attempts":-1e300,"lifo":"yes","priority":{}}"#, #"{"stackTraceLimit":-5}"#,
            #"{"stackTraceLimit":1e300}"#, #"{"stackTraceLimit":"x"}"#, #"{"removeOnFail":"yes"}"#,
            #"{"removeOnFail":1.5}"#, #"{"removeOnFail":-7}"#, #"{"removeOnFail":{"count":"x","age":-5}}"#,
            #"{"removeOnFail":{"count":2.5,"age":1e300,"limit":0.5}}"#, #"{"removeOnFail":{"limit":-1,"age":0.001}}"#,
            #"{"removeOnFail":1e300}"#, #"{"removeOnFail":[]}"#, #"{"de":7,"kl":"x","parent":9}"#,
            #"{"attempts":2,"attempts":3}"#, String(repeating: "[", count: 5000),
        ].map(options) + [
            field("atm", "many"), field("atm", "-5"), field("atm", "nan"), field("atm", "1e400"), field("atm", ""),
            field("ats", "many"), field("ats", "nan"), field("ats", "-1e300"), field("ats", ""),
            field("stc", "x"), field("priority", "inf"), field("priority", "nan"), field("priority", "-3"),
            field("timestamp", "yesterday"), field("timestamp", "99999999999999999999"), field("delay", "nan"),
            field("stacktrace", "none"), field("stacktrace", #"{"a":1}"#), field("stacktrace", "5"),
            field("parent", "{"), field("parent", "[]"), field("parent", #"{"id":5,"queueKey":[]}"#),
            field("parent", #"{"id":"wait","queueKey":"bull:nowhere","fpof":"x"}"#),
            field("deid", "{}"), field("deid", ""), field("defa", ""), field("failedReason", "{"),
            field("returnvalue", "{", fails: false), field("attemptsMade", "7", fails: false),
            field("progress", "{", fails: false), field("processedOn", "x", fails: false),
        ] + [
            Poison("no data", ["name": "n"]), Poison("no name", ["data": "1"]),
            Poison("no options, failing", ["data": ""], fails: true),
            Poison("an empty name", ["name": "", "data": "1"]),
            Poison("a megabyte of data", ["name": "n", "data": "\"" + String(repeating: "x", count: 1 << 20) + "\""]),
            Poison("a name of 100 kB", ["name": String(repeating: "n", count: 100_000), "data": "1"]),
            Poison("an id with blanks", id: "a b\nc", ["name": "n", "data": "1"]),
            Poison("an id in braces", id: "{x}", ["name": "n", "data": "1"]),
            Poison("an id like a run of a scheduler", id: "repeat:x:y", ["name": "n", "data": "1"]),
            Poison("an id like a run of a lost scheduler", id: "repeat:x:17", ["name": "n", "data": "1"]),
            Poison("an id of 10 kB", id: String(repeating: "i", count: 10_000), ["name": "n", "data": "1"]),
        ]
}

/// Jobs that cannot be right end with a reason or are dropped, and the jobs around them are run (B3).
@Suite(.timeLimit(.minutes(2)))
struct PoisonTests {
    private func push(_ fixture: QueueFixture, _ id: String) async throws {
        _ = try await fixture.command("LPUSH", fixture.key("wait"), .string(id))
    }

    private func put(_ fixture: QueueFixture, _ id: String, _ fields: [String: String]) async throws {
        let parts = fields.flatMap { [RedisArgument.string($0.key), .string($0.value)] }
        _ = try await fixture.redis.client.send(RedisCommand(["HSET", fixture.key(id)] + parts))
        try await push(fixture, id)
    }

    private static func handle(_ context: JobContext, fails: String?) throws -> String {
        if context.job.id == fails { throw HandlerFailure() }
        return "null"
    }

    @Test(arguments: Poison.all)
    func `a broken job ends and holds up nobody`(poison: Poison) async throws {
        try await QueueFixture.live { fixture in
            try await fixture.addPlain(2)
            try await put(fixture, poison.id, poison.fields)
            try await fixture.addPlain(2)
            let failing = poison.fails ? poison.id : nil
            try await fixture.working { context in
                try Self.handle(context, fails: failing)
            } _: { _ in
                try await eventually {
                    let counts = try await fixture.queue.counts()
                    return counts.completed + counts.failed >= 4 && counts.ready + counts.active + counts.delayed == 0
                }
            }
            for id in ["1", "2", "3", "4"] { #expect(try await fixture.score("completed", id) != nil) }
            let hash = try await fixture.hash(poison.id)
            // One that asked not to be kept, or named its data by an older one's age, may be gone.
            if let finished = hash["finishedOn"] {
                #expect(Int64(finished) != nil)
                if poison.fails { #expect(hash["failedReason"] != nil) } else { #expect(hash["returnvalue"] == "null") }
            } else {
                #expect(hash.isEmpty)
            }
            #expect(try await fixture.command("LLEN", fixture.key("active")).int == 0)
            #expect(try await fixture.command("KEYS", fixture.key("*:lock")).requireArray("KEYS").isEmpty)
        }
    }

    @Test(arguments: ["text", "", "{", "{\"a\":1", "[1,]", "\u{0}"])
    func `data that is no JSON fails for good with a reason that says so`(data: String) async throws {
        try await QueueFixture.live { fixture in
            try await put(fixture, "bad", ["name": "n", "data": data, "opts": #"{"attempts":5}"#])
            try await fixture.working { context in
                try context.value().text
            } _: { _ in
                try await fixture.eventually(\.failed, 1)
            }
            let hash = try await fixture.hash("bad")
            #expect(hash["failedReason"]?.hasPrefix("the data of the job is no JSON: ") == true)
            #expect(hash["atm"] == "1")
        }
    }

    @Test(arguments: ["gone", "0:0", "0:1796077232251", "a text", "a list", ""])
    func `an id behind which no job stands is dropped`(id: String) async throws {
        try await QueueFixture.live { fixture in
            _ = try await fixture.command("SET", fixture.key("a text"), "x")
            _ = try await fixture.command("RPUSH", fixture.key("a list"), "x")
            try await fixture.addPlain(1)
            try await push(fixture, id)
            try await fixture.addPlain(1)
            _ = try await fixture.command("ZADD", fixture.key("delayed"), 1, .string(id))
            try await fixture.working { _ in
                "null"
            } _: { _ in
                try await fixture.eventually(\.completed, 2)
            }
            #expect(try await fixture.queue.counts() == JobCounts(completed: 2))
            #expect(try await fixture.command("GET", fixture.key("a text")).string == "x")
            #expect(try await fixture.list("a list") == ["x"])
            let hasLock = try await fixture.exists("\(id):lock")
            #expect(!hasLock)
        }
    }

    @Test func `a stalled job whose count is no number comes back`() async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(2)
            _ = try await fixture.consumer.claim(limit: 2)
            _ = try await fixture.command("HSET", fixture.key("1"), "stc", "often", "processedOn", "never")
            _ = try await fixture.command("DEL", fixture.key("1:lock"), fixture.key("2:lock"))
            fixture.clock.advance(by: .seconds(31))
            _ = try await fixture.consumer.recoverStalled()
            _ = try await fixture.command("DEL", fixture.key("stalled-check"))
            _ = try await fixture.consumer.recoverStalled()
            #expect(try await fixture.list("wait").sorted() == ["1", "2"])
            #expect(try await fixture.hash("1")["stc"] == "1")
        }
    }
}
