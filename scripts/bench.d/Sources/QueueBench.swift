import Foundation
import JobQueue
import Kernel
import Observability
import RedisClient
import Synchronization

/// The queue alone: what a job costs the server and us, how much it bears, how soon a worker wakes.
struct QueueBench {
    private let url: RedisURL
    private let urlText: String
    private let redis: RedisClient
    private let server: ThreadTime
    private let own = ThreadTime(process: getpid())
    private let jobs: Int
    private let backlog: Int
    private let python: String
    private let peer: String
    private let telemetry = Telemetry(logger: Logger(service: "bench", level: .warning))

    init(environment: [String: String]) throws {
        func value(_ name: String) throws -> String {
            guard let text = environment[name] else { throw BenchError(description: "\(name) is not set") }
            return text
        }
        func number(_ name: String) throws -> Int {
            guard let number = Int(try value(name)) else { throw BenchError(description: "\(name) is no number") }
            return number
        }
        urlText = try value("REDIS_URL")
        url = try RedisURL(parsing: urlText)
        redis = RedisClient(url: url, telemetry: telemetry)
        server = ThreadTime(process: Int32(try number("BENCH_REDIS_PID")))
        jobs = try number("BENCH_JOBS")
        backlog = try number("BENCH_BACKLOG")
        python = try value("BENCH_PYTHON")
        peer = try value("BENCH_PEER")
    }

    func run() async throws {
        var figures: [(String, Double, String)] = []
        say("jobs of 150 bytes with ids of the queue's counter; completed ones are kept to 1,000")
        figures += try await adding()
        figures += try await noop()
        figures += try await cost()
        figures += try await backlogCost()
        figures.append(("wake_up_ms_p99", try await wakeUp(), "ms"))
        figures.append(("delayed_late_ms_p99", try await lateness(), "ms"))
        print("figures:")
        for (name, value, unit) in figures { print(name, String(format: "%.2f", value), unit) }
    }

    // MARK: Adding, and jobs that do nothing

    private func adding() async throws -> [(String, Double, String)] {
        let queue = try await freshQueue("add")
        let time = server.microseconds
        let started = ContinuousClock.now
        try await fill(queue, jobs)
        let ours = Double(jobs) / started.duration(to: .now).inSeconds
        let each = (server.microseconds - time) / Double(jobs)
        _ = try await freshQueue("add")
        let count = 50_000
        let theirs = try comparator("add", count)
        return [
            ("bulk_add_per_s", ours, "1/s"), ("redis_us_per_added_job", each, "us"),
            ("python_bulk_add_per_s", theirs, "1/s"),
        ]
    }

    private func noop() async throws -> [(String, Double, String)] {
        let queue = try await freshQueue("noop")
        try await fill(queue, jobs)
        let done = Countdown(jobs)
        let worker = JobWorker(
            queue: queue,
            redis: redis,
            blockingURL: url,
            options: JobWorker.Options(name: "bench", concurrency: 2048)
        ) { _ in
            done.count()
            return "null"
        }
        let time = own.microseconds
        let started = ContinuousClock.now
        try await worker.run { await done.wait() }
        let seconds = started.duration(to: .now).inSeconds
        let counts = try await queue.counts()
        guard counts.waiting == 0, counts.active == 0 else { throw BenchError(description: "jobs are left: \(counts)") }
        let client = (own.microseconds - time) / Double(jobs)

        let peerQueue = try await freshQueue("noop")
        let count = 20_000
        try await fill(peerQueue, count)
        let theirs = try comparator("work", count)
        return [
            ("noop_jobs_per_s", Double(jobs) / seconds, "1/s"), ("client_us_per_job", client, "us"),
            ("python_noop_jobs_per_s", theirs, "1/s"),
        ]
    }

    // MARK: What the server spends

    private func cost() async throws -> [(String, Double, String)] {
        var figures: [(String, Double, String)] = []
        for (name, isRandom) in [("redis_us_per_job_fifo", false), ("redis_us_per_job", true)] {
            let queue = try await freshQueue("cost")
            let load = ClaimLoad(queue: queue, redis: redis, url: url, server: server, isRandom: isRandom)
            // Enough that something still waits when all places are taken.
            try await fill(queue, ClaimLoad.inFlight + 1024)
            var each: [Double] = []
            for _ in 0..<5 {
                try await fill(queue, 20_480)
                each.append(try await load.run(jobs: 20_480))
            }
            await load.end()
            figures.append((name, each.median, "us"))
        }
        _ = try await freshQueue("bare")
        let bare = try await BareCommands(redis: redis, server: server).costs(jobs: 100_000)
        return figures + [("bare_us_per_added_job", bare.added, "us"), ("bare_us_per_job", bare.run, "us")]
    }

    private func backlogCost() async throws -> [(String, Double, String)] {
        var figures: [(String, Double, String)] = []
        for (name, priority) in [("backlog_cost_ratio", 0), ("backlog_cost_ratio_prioritized", 10)] {
            let queue = try await freshQueue("backlog")
            let load = ClaimLoad(queue: queue, redis: redis, url: url, server: server, isRandom: false)
            let short = try await costs(load, queue, waiting: 1000, priority: priority)
            let memory = try await usedMemory()
            try await fill(queue, backlog - 1000, priority: priority)
            if priority == 0 {
                let bytes = Double(try await usedMemory() - memory) / Double(backlog - 1000)
                figures.append(("bytes_per_waiting_job", bytes, "B"))
            }
            let long = try await costs(load, queue, waiting: backlog, priority: priority)
            await load.end()
            figures.append((name, long / short, "ratio"))
            say("\(name): \(String(format: "%.1f us with 1,000 waiting, %.1f with %d", short, long, backlog))")
            _ = try await freshQueue("backlog")
        }
        return figures
    }

    /// The median of five runs of 20,480 jobs, the number of waiting ones being kept.
    private func costs(_ load: ClaimLoad, _ queue: JobQueue, waiting: Int, priority: Int) async throws -> Double {
        let present = try await queue.counts()
        let missing = waiting + ClaimLoad.inFlight - present.waiting - present.prioritized - present.active
        try await fill(queue, missing, priority: priority)
        var each: [Double] = []
        for _ in 0..<5 {
            var sum = 0.0
            // In small steps, so that there are never many more jobs than were asked for.
            for _ in 0..<20 {
                try await fill(queue, 1024, priority: priority)
                sum += try await load.run(jobs: 1024)
            }
            each.append(sum / 20)
        }
        return each.median
    }

    private func usedMemory() async throws -> Int {
        let text = try await redis.send(RedisCommand(["INFO", "memory"])).string ?? ""
        let line = text.split(whereSeparator: \.isNewline).first { $0.hasPrefix("used_memory:") }
        return line.flatMap { Int($0.dropFirst("used_memory:".count)) } ?? 0
    }

    // MARK: Waking up

    /// From before the add to the start of the handler of an idle worker, 1,000 times.
    private func wakeUp() async throws -> Double {
        let queue = try await freshQueue("wake")
        let producer = RedisClient(url: url, telemetry: telemetry)
        let adding = JobQueue(redis: producer, name: queue.name, telemetry: telemetry)
        let started = Meeting()
        let worker = JobWorker(
            queue: queue,
            redis: redis,
            blockingURL: url,
            options: JobWorker.Options(name: "bench", concurrency: 50)
        ) { _ in
            started.arrive()
            return "null"
        }
        let stop = Countdown(1)
        async let running: Void = worker.run { await stop.wait() }
        var waits: [Double] = []
        for _ in 0..<1000 {
            try await Task.sleep(for: .milliseconds(5))
            let before = ContinuousClock.now
            _ = try await adding.add(NewJob(name: "n", data: "{}"))
            let moment = await started.next()
            waits.append(before.duration(to: moment).inSeconds * 1000)
        }
        stop.count()
        try await running
        await producer.close()
        return waits.sorted()[989]
    }

    /// How late delayed jobs begin while others come in at 3,000/s, in ms: 1,000 of them, due over five seconds.
    private func lateness() async throws -> Double {
        let queue = try await freshQueue("late")
        let late = Mutex<[Int64]>([])
        let done = Countdown(1000)
        let worker = JobWorker(
            queue: queue,
            redis: redis,
            blockingURL: url,
            options: JobWorker.Options(name: "bench", concurrency: 256)
        ) { context in
            guard let due = Int64(context.job.data) else { return "null" }
            late.withLock { $0.append(SystemWallClock().now.milliseconds - due) }
            done.count()
            return "null"
        }
        let producer = RedisClient(url: url, telemetry: telemetry)
        let adding = JobQueue(redis: producer, name: queue.name, telemetry: telemetry)
        let now = SystemWallClock().now
        let delayed = (0..<1000).map { index in
            let delay = Duration.milliseconds(1000 + Int64(index) * 5)
            let due = now + delay
            return NewJob(name: "n", data: String(due.milliseconds), options: JobOptions(delay: delay, timestamp: now))
        }
        for start in [0, 500] { _ = try await adding.addBulk(Array(delayed[start..<(start + 500)])) }
        let others = Task {
            let group = (0..<30).map { NewJob(name: "n", data: #"{"number":\#($0)}"#) }
            while !Task.isCancelled {
                _ = try await adding.addBulk(group)
                try await Task.sleep(for: .milliseconds(10))
            }
        }
        try await worker.run { await done.wait() }
        others.cancel()
        _ = await others.result
        await producer.close()
        return Double(late.withLock { $0 }.sorted()[989])
    }

    // MARK: Common

    /// An empty queue of this name.
    private func freshQueue(_ name: String) async throws -> JobQueue {
        _ = try await redis.send(RedisCommand(["FLUSHALL"]), timeout: .seconds(60))
        return JobQueue(redis: redis, name: try QueueName(name: name), telemetry: telemetry)
    }

    private func fill(_ queue: JobQueue, _ count: Int, priority: Int = 0) async throws {
        let text = String(repeating: "x", count: 120)
        // Four calls under way keep the server busy while the next ones are written.
        try await withThrowingTaskGroup { group in
            for lane in 0..<4 {
                group.addTask {
                    for start in stride(from: lane * 500, to: count, by: 2000) {
                        let jobs = (start..<min(start + 500, count)).map { index in
                            NewJob(
                                name: "n",
                                data: #"{"number":\#(index),"text":"\#(text)"}"#,
                                options: JobOptions(priority: priority)
                            )
                        }
                        _ = try await queue.addBulk(jobs)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private func comparator(_ mode: String, _ count: Int) throws -> Double {
        let arguments = [peer, urlText, mode == "add" ? "add" : "noop", mode, String(count)]
        say("comparator: \(python) \(arguments.joined(separator: " "))")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: python)
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0, let line = text.split(separator: "\n").last, let rate = Double(line)
        else {
            throw BenchError(description: "the comparator failed: \(text)")
        }
        return rate
    }

    private func say(_ text: String) {
        FileHandle.standardError.write(Data("\(text)\n".utf8))
    }
}

extension [Double] {
    fileprivate var median: Double { sorted()[count / 2] }
}
