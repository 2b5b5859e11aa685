package import Kernel
import RedisClient

/// How many jobs are in each state, as BullMQ's getJobCounts tells it.
package struct JobCounts: Sendable, Equatable {
    package var waiting = 0
    /// Jobs that a client of BullMQ 5 set aside when it paused the queue.
    package var paused = 0
    package var active = 0
    package var prioritized = 0
    package var delayed = 0
    package var completed = 0
    package var failed = 0
    package var waitingChildren = 0

    package init(
        waiting: Int = 0,
        paused: Int = 0,
        active: Int = 0,
        prioritized: Int = 0,
        delayed: Int = 0,
        completed: Int = 0,
        failed: Int = 0,
        waitingChildren: Int = 0
    ) {
        self.waiting = waiting
        self.paused = paused
        self.active = active
        self.prioritized = prioritized
        self.delayed = delayed
        self.completed = completed
        self.failed = failed
        self.waitingChildren = waitingChildren
    }

    /// Jobs that are ready to be taken.
    package var ready: Int { waiting + paused + prioritized }
}

/// A job as it lies in Redis, for people to look at.
package struct StoredJob: Sendable, Equatable {
    package let id: String
    /// `waiting`, `paused`, `prioritized`, `delayed`, `active`, `completed`, `failed`, `waiting-children` or `unknown`.
    package let state: String
    /// The fields of its hash under BullMQ's names.
    package let fields: [String: String]
}

/// How long the next job of one class has been ready.
package struct ClassAge: Sendable, Equatable {
    /// 0 for jobs without a priority.
    package let priority: Int
    package let age: Duration

    package init(priority: Int, age: Duration) {
        self.priority = priority
        self.age = age
    }
}

extension JobQueue {
    package enum ChangeDelayResult: Sendable, Equatable { case changed, missing, notDelayed }

    package func counts() async throws(JobQueueError) -> JobCounts {
        try await connection.run(QueueScripts.counts).reading { reply throws(RedisError) in
            var numbers: [Int] = []
            for part in try reply.requireArray("counts") { numbers.append(try part.requireInt("counts")) }
            guard numbers.count == 8 else { throw RedisError(.unexpectedReply, "counts: eight numbers are expected") }
            return JobCounts(
                waiting: numbers[0],
                paused: numbers[1],
                active: numbers[2],
                prioritized: numbers[3],
                delayed: numbers[4],
                completed: numbers[5],
                failed: numbers[6],
                waitingChildren: numbers[7]
            )
        }
    }

    /// The job of this id, `nil` when there is none.
    package func job(_ id: String) async throws(JobQueueError) -> StoredJob? {
        try await connection.run(QueueScripts.job, [.string(id)]).reading { reply throws(RedisError) in
            if reply.isNull { return nil }
            let parts = try reply.requireArray("job")
            guard parts.count == 2 else { throw RedisError(.unexpectedReply, "job: two parts are expected") }
            return StoredJob(
                id: id,
                state: try parts[0].requireString("job"),
                fields: try parts[1].requireFields("job")
            )
        }
    }

    /// Gives a job that is still delayed another due time. Its `opts.delay` follows, so that timestamp and delay still add up
    /// to the due time when a worker looks at them later.
    package func changeDelay(_ id: String, due: Timestamp) async throws(JobQueueError) -> ChangeDelayResult {
        guard (0...JobOptions.lastDueTime).contains(due.milliseconds) else {
            throw JobQueueError(.invalidDelay, "the due time lies beyond September 2039")
        }
        // The second round is for options that another client changed between reading and writing.
        for _ in 0..<3 {
            guard let job = try await job(id) else { return .missing }
            guard job.state == "delayed" else { return .notDelayed }
            let current = job.fields["opts"] ?? "{}"
            let timestamp = job.fields["timestamp"].flatMap { Int64($0) } ?? connection.clock.now.milliseconds
            let changed = Self.options(current, withDelay: max(due.milliseconds - timestamp, 0))
            let code = try await code(
                of: QueueScripts.changeDelay,
                [.string(id), .integer(due.milliseconds), .string(current), .string(changed)]
            )
            switch code {
            case 1: return .changed
            case -1: return .notDelayed
            case -2: continue
            default: return .missing
            }
        }
        return .notDelayed
    }

    /// How long the next job of each class has been ready, by its priority: the gauge that shows starvation.
    package func oldestAges() async throws(JobQueueError) -> [ClassAge] {
        let now = connection.clock.now
        return try await connection.run(QueueScripts.oldest, now: now).reading { reply throws(RedisError) in
            let parts = try reply.requireArray("oldest")
            var ages: [ClassAge] = []
            for index in stride(from: 0, to: parts.count - 2, by: 3) {
                let priority = try parts[index].requireInt("oldest")
                // A foreign job without a readable timestamp counts as new.
                let made = parts[index + 1].integer ?? now.milliseconds
                let options = try? JSONValue(parsing: parts[index + 2].string ?? "")
                let ready = made + (options?["delay"]?.integerValue ?? 0)
                ages.append(ClassAge(priority: priority, age: .milliseconds(max(0, now.milliseconds - ready))))
            }
            return ages
        }
    }

    func code(of script: RedisScript, _ arguments: [RedisArgument]) async throws(JobQueueError) -> Int {
        try await connection.run(script, arguments).reading { reply throws(RedisError) in
            try reply.requireInt("code")
        }
    }

    private static func options(_ text: String, withDelay delay: Int64) -> String {
        // Options that cannot be read are replaced: no client could have used them.
        let members = (try? JSONValue(parsing: text))?.members ?? []
        return JSONValue.object(members.filter { $0.name != "delay" } + [JSONMember("delay", .integer(delay))]).text
    }
}
