import Glibc
import JobQueue
import Kernel
import RedisClient
import TestSupport
import Testing

/// Locks of a worker: kept while handlers run, whatever they do, and respected when they are lost (B3, E10).
@Suite(.timeLimit(.minutes(2)), .serialized)
struct WorkerLockTests {
    private static let quick = JobWorker.Options(
        name: "w",
        concurrency: 8,
        consumer: .init(lockDuration: .seconds(2), stalledInterval: .milliseconds(200))
    )

    /// Waits until the lock was renewed so many times: its remaining time rose. Stops early when the lock is gone.
    private static func renewals(_ wanted: Int, of key: RedisArgument, _ redis: RedisClient, _ pause: () async -> Void)
        async throws -> Int
    {
        var seen = 0
        var last = Int.max
        while seen < wanted {
            let left = try await redis.send(RedisCommand(["PTTL", key])).requireInt("PTTL")
            guard left > 0 else { return seen }
            if left > last { seen += 1 }
            last = left
            await pause()
        }
        return seen
    }

    @Test func `a job that runs for longer than its lock lasts is not taken for stalled`() async throws {
        try await QueueFixture.live { fixture in
            try await fixture.addPlain(1)
            let gate = Latch()
            try await fixture.working(Self.quick) { _ in
                await gate.wait()
                return "null"
            } _: { _ in
                try await fixture.eventually(\.active, 1)
                // A renewal is due each quarter, so these are three lives of the lock.
                let count = try await Self.renewals(12, of: fixture.key("1:lock"), fixture.redis.client) {
                    await Task.yield()
                }
                #expect(count == 12)
                gate.open()
                try await fixture.eventually(\.completed, 1)
            }
            #expect(try await fixture.hash("1")["stc"] == nil)
            #expect(try await fixture.hash("1")["ats"] == "1")
        }
    }

    @Test func `handlers that block every thread of the pool let no lock lapse`() async throws {
        try await QueueFixture.live { fixture in
            let threads = max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1) * 2
            try await fixture.addPlain(threads)
            let gate = Latch()
            let started = Record<String>()
            let executor = ThreadExecutor(name: "watch")
            let alarm = executor.makeAlarm()
            let client = fixture.redis.client
            let key = fixture.key("1:lock")
            let watch = Task(executorPreference: executor) {
                defer { gate.open() }
                while started.count == 0 { await alarm.wait(until: .now + .milliseconds(1)) }
                return try await Self.renewals(5, of: key, client) {
                    await alarm.wait(until: .now + .milliseconds(5))
                }
            }
            try await fixture.working(.init(name: "w", concurrency: threads, consumer: Self.quick.consumer)) {
                context in
                started.add(context.job.id)
                while !gate.isOpen { usleep(500) }
                return "null"
            } _: { _ in
                #expect(try await watch.value == 5)
                try await fixture.eventually(\.completed, threads)
            }
        }
    }

    @Test func `a lost lock cancels the handler, and nothing of it is recorded`() async throws {
        try await QueueFixture.live { fixture in
            try await fixture.addPlain(2)
            let cancelled = Latch()
            let gate = Latch()
            try await fixture.working(Self.quick) { context in
                if context.job.id == "1" {
                    await withTaskCancellationHandler {
                        await cancelled.wait()
                    } onCancel: {
                        cancelled.open()
                    }
                    #expect(context.isLost)
                    return "1"
                }
                await gate.wait()
                return "2"
            } _: { worker in
                try await fixture.eventually(\.active, 2)
                // Another worker took the job over, as after a stall.
                _ = try await fixture.command("SET", fixture.key("1:lock"), "of somebody else")
                await cancelled.wait()
                gate.open()
                try await fixture.eventually(\.completed, 1)
                try await eventually { worker.runningCount == 0 }
            }
            #expect(try await fixture.command("GET", fixture.key("1:lock")).string == "of somebody else")
            #expect(try await fixture.hash("1")["returnvalue"] == nil)
            #expect(try await fixture.list("active") == ["1"])
            #expect(try await fixture.hash("2")["returnvalue"] == "2")
        }
    }

    @Test func `a job that was taken over and removed does no harm to its first worker`() async throws {
        try await QueueFixture.live { fixture in
            try await fixture.addPlain(1)
            let gate = Latch()
            try await fixture.working(Self.quick) { context in
                if context.job.id == "1" { await gate.wait() }
                return "null"
            } _: { _ in
                try await fixture.eventually(\.active, 1)
                _ = try await fixture.command("DEL", fixture.key("1"), fixture.key("1:lock"))
                gate.open()
                try await fixture.addPlain(3)
                try await fixture.eventually(\.completed, 3)
            }
            let isThere = try await fixture.exists("1")
            #expect(!isThere)
        }
    }

    @Test func `the first check for stalled jobs comes with the start`() async throws {
        try await QueueFixture.live { fixture in
            try await fixture.addPlain(1)
            // What a worker leaves that was killed long ago.
            _ = try await fixture.consumer.claim(limit: 1)
            _ = try await fixture.command("DEL", fixture.key("1:lock"))
            _ = try await fixture.command("HSET", fixture.key("1"), "processedOn", 1_700_000_000_000)
            let slow = JobConsumer.Options(stalledInterval: .seconds(3600))
            try await fixture.working(.init(name: "w", consumer: slow)) { context in
                "\(context.job.stalledCount)"
            } _: { _ in
                try await fixture.eventually(\.completed, 1)
            }
            #expect(try await fixture.hash("1")["returnvalue"] == "1")
        }
    }
}
