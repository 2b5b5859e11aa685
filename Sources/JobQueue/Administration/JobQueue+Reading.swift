package import Kernel
import RedisClient

/// A worker as its waiting connection shows it.
package struct QueueWorker: Sendable, Equatable {
    /// What comes after `:w:` in the connection's name, `nil` for a worker without a name.
    package let name: String?
    /// `host:port`.
    package let address: String
    package let age: Duration
    package let idle: Duration
}

/// How many jobs ended in each minute, as workers with BullMQ's `metrics` option write it.
package struct EndedPerMinute: Sendable, Equatable {
    /// All since the first.
    package let total: Int
    /// Newest first.
    package let points: [Int]
    /// When a worker last wrote, `nil` when none ever did.
    package let updated: Timestamp?

    package init(total: Int, points: [Int], updated: Timestamp?) {
        self.total = total
        self.points = points
        self.updated = updated
    }
}

extension JobQueue {
    /// The states whose jobs can be listed.
    package enum ListedState: String, Sendable, CaseIterable {
        case wait, paused, active, prioritized, delayed, completed, failed
        case waitingChildren = "waiting-children"
    }

    package enum PageOrder: Sendable { case oldestFirst, newestFirst }

    /// Some jobs of one state. In `prioritized` and `delayed` the oldest are those that come first.
    /// - Parameter limit: at most 1000.
    package func jobs(
        _ state: ListedState,
        from first: Int = 0,
        limit: Int = 100,
        order: PageOrder = .oldestFirst
    ) async throws(JobQueueError) -> [StoredJob] {
        let last = max(first, 0) + min(max(limit, 1), 1000) - 1
        let shown = state == .wait ? "waiting" : state.rawValue
        return try await connection.run(
            QueueScripts.page,
            [.string(state.rawValue), .init(max(first, 0)), .init(last), order == .oldestFirst ? 1 : 0]
        ).reading { reply throws(RedisError) in
            let parts = try reply.requireArray("page")
            var jobs: [StoredJob] = []
            for index in stride(from: 0, to: parts.count - 1, by: 2) {
                let fields = try parts[index + 1].requireFields("page")
                // A ghost: workers skip it, the checker reports it.
                if fields.isEmpty { continue }
                jobs.append(StoredJob(id: try parts[index].requireString("page"), state: shown, fields: fields))
            }
            return jobs
        }
    }

    /// How many jobs of each priority are ready; 0 stands for jobs without one.
    package func counts(ofPriorities priorities: [Int]) async throws(JobQueueError) -> [Int: Int] {
        var counts: [Int: Int] = [:]
        var commands: [[RedisArgument]] = []
        for priority in priorities where priority > 0 {
            let low = Int64(priority) << 32
            commands.append(["ZCOUNT", key("prioritized"), .integer(low), .integer(low + (1 << 32) - 1)])
        }
        let replies = try await connection.pipeline(
            commands + [["LLEN", key("wait")], ["LLEN", key("paused")]]
        )
        for (priority, reply) in zip(priorities.filter { $0 > 0 }, replies) { counts[priority] = reply.int ?? 0 }
        if priorities.contains(0) { counts[0] = replies.suffix(2).reduce(0) { $0 + ($1.int ?? 0) } }
        return counts
    }

    /// Rows of a job's log, oldest first, and how many there are.
    /// - Parameter limit: at most 1000.
    package func logs(
        of id: String,
        from first: Int = 0,
        limit: Int = 100
    ) async throws(JobQueueError) -> (rows: [String], count: Int) {
        let last = first + min(max(limit, 1), 1000) - 1
        let replies = try await connection.pipeline([
            ["LRANGE", key("\(id):logs"), .init(first), .init(last)], ["LLEN", key("\(id):logs")],
        ])
        return (replies[0].array?.compactMap(\.string) ?? [], replies[1].int ?? 0)
    }

    /// The job that owns a deduplication id.
    package func owner(ofDeduplicationID id: String) async throws(JobQueueError) -> String? {
        try await connection.send(["GET", key("de:\(id)")]).string
    }

    /// Frees a deduplication id before its time. A job kept for the owner's end is dropped.
    /// - Returns: whether it was taken.
    @discardableResult
    package func freeDeduplicationID(_ id: String) async throws(JobQueueError) -> Bool {
        let replies = try await connection.pipeline([["DEL", key("de:\(id)")], ["DEL", key("dn:\(id)")]])
        return try replies[0].reading { reply throws(RedisError) in
            try reply.checked().requireInt("free deduplication id") == 1
        }
    }

    /// The workers that wait for jobs of this queue, found by the names of their connections as dashboards do it.
    package func workers() async throws(JobQueueError) -> [QueueWorker] {
        let text = try await connection.send(["CLIENT", "LIST"]).string ?? ""
        // BullMQ's Python workers put the bare name of the queue where the others put its base64 form.
        let plains = [name.connectionName, "\(name)"]
        return text.split(separator: "\n").compactMap { line in
            var fields: [Substring: Substring] = [:]
            for field in line.split(separator: " ") {
                guard let equals = field.firstIndex(of: "=") else { continue }
                fields[field[..<equals]] = field[field.index(after: equals)...]
            }
            guard let client = fields["name"],
                let plain = plains.first(where: { client == $0 || client.hasPrefix($0 + ":w:") })
            else { return nil }
            return QueueWorker(
                name: client == plain ? nil : String(client.dropFirst(plain.count + 3)),
                address: String(fields["addr"] ?? ""),
                age: .seconds(fields["age"].flatMap { Int($0) } ?? 0),
                idle: .seconds(fields["idle"].flatMap { Int($0) } ?? 0)
            )
        }
    }

    /// How many jobs ended in this state in each minute, for as long as workers wrote it down.
    /// - Parameter limit: at most 20,000 minutes.
    package func endedPerMinute(
        _ state: FinishedState,
        limit: Int = 1440
    ) async throws(JobQueueError) -> EndedPerMinute {
        let base = "metrics:\(state.rawValue)"
        let replies = try await connection.pipeline([
            ["HMGET", key(base), "count", "prevTS"],
            ["LRANGE", key(base + ":data"), 0, .init(min(max(limit, 1), 20_000) - 1)],
        ])
        let fields = replies[0].array ?? []
        return EndedPerMinute(
            total: fields.first?.int ?? 0,
            points: replies[1].array?.map { $0.int ?? 0 } ?? [],
            updated: fields.last?.integer.map { Timestamp(milliseconds: $0) }
        )
    }
}
