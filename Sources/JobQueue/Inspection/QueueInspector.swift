import Kernel
import RedisClient

/// Compares the ids in a queue's states with the keys that are there, in bounded steps that hold nobody up.
///
/// The first pass collects what looks wrong while the queue moves; the second looks at each of those again in one atomic
/// step and keeps what is still wrong.
package struct QueueInspector: Sendable {
    /// How many ids one step reads.
    private static let step = 1000
    /// How many ids one atomic second look handles: each costs a walk along the lists.
    private static let secondLook = 50
    private static let lists = ["wait", "paused", "active"]
    private static let sets = ["prioritized", "delayed", "completed", "failed", "waiting-children"]

    private let queue: JobQueue
    private let limit: Int
    private let suspectLimit: Int

    /// - Parameters:
    ///   - limit: how many ids are kept in memory at most, about 100 bytes each.
    ///   - suspectLimit: how many findings get a second look.
    package init(queue: JobQueue, limit: Int = 2_000_000, suspectLimit: Int = 5000) {
        self.queue = queue
        self.limit = limit
        self.suspectLimit = suspectLimit
    }

    /// - Parameter repairGhosts: also takes ids out of their states when no job stands behind them.
    package func run(repairGhosts: Bool = false) async throws(JobQueueError) -> QueueReport {
        var report = QueueReport()
        report.counts = try await queue.counts()
        var suspects: Set<String> = []
        let ids = try await collectIDs(&report, suspects: &suspects)
        let keys = try await collectKeys(&report)
        report.idsSeen = ids.count

        suspects.formUnion(ids.lazy.filter { !keys.jobs.contains($0) })
        suspects.formUnion(keys.jobs.lazy.filter { !ids.contains($0) })
        suspects.formUnion(keys.locks)
        suspects.formUnion(keys.parts.lazy.filter { !keys.jobs.contains($0) })
        if suspects.count > suspectLimit { report.truncated = true }
        try await lookAgain(at: suspects.sorted().prefix(suspectLimit), parts: keys.parts, repairGhosts, &report)
        try await checkDeduplication(keys.deduplication, &report)
        try await checkSchedulers(keys.schedulers, &report)
        return report
    }

    /// All ids of all states. Those met twice in different states are suspects.
    private func collectIDs(
        _ report: inout QueueReport,
        suspects: inout Set<String>
    ) async throws(JobQueueError) -> Set<String> {
        var places: [String: String] = [:]
        func note(_ batch: [String], _ state: String) {
            for id in batch {
                if places.count >= limit {
                    report.truncated = true
                    return
                }
                // A list that grows at its left end shows the same id again; only a second look can tell.
                if places.updateValue(state, forKey: id) != nil { suspects.insert(id) }
            }
        }
        for list in Self.lists {
            var at = 0
            while places.count < limit {
                let batch = try await texts(["LRANGE", queue.key(list), .init(at), .init(at + Self.step - 1)])
                note(batch, list)
                suspects.formUnion(try await nameless(batch))
                at += batch.count
                if batch.count < Self.step { break }
            }
        }
        for set in Self.sets {
            var cursor = "0"
            repeat {
                let (next, batch) = try await scan([
                    "ZSCAN", queue.key(set), .string(cursor), "COUNT", .init(Self.step),
                ])
                let members = stride(from: 0, to: batch.count, by: 2).map { batch[$0] }
                note(members, set)
                suspects.formUnion(try await nameless(members))
                cursor = next
            } while cursor != "0" && places.count < limit
        }
        return Set(places.keys)
    }

    /// Those whose hash is gone or has no name: clients of BullMQ leave such hashes when they take a ghost.
    private func nameless(_ ids: [String]) async throws(JobQueueError) -> [String] {
        let replies = try await queue.connection.pipeline(ids.map { ["HEXISTS", queue.key($0), "name"] })
        return zip(ids, replies).filter { $0.1.int == 0 }.map(\.0)
    }

    private struct Keys {
        var jobs: Set<String> = []
        var locks: Set<String> = []
        /// Ids that have logs or lists of children.
        var parts: Set<String> = []
        var deduplication: Set<String> = []
        var schedulers: Set<String> = []
    }

    private func collectKeys(_ report: inout QueueReport) async throws(JobQueueError) -> Keys {
        var keys = Keys()
        let prefix = queue.name.keyPrefix
        let pattern = Self.escaped(prefix) + "*"
        var cursor = "0"
        repeat {
            let (next, batch) = try await scan(["SCAN", .string(cursor), "MATCH", .string(pattern), "COUNT", 1000])
            cursor = next
            for key in batch {
                report.keysSeen += 1
                switch QueueKey(String(key.dropFirst(prefix.count))) {
                case .job(let id): keys.jobs.insert(id)
                case .lock(let id): keys.locks.insert(id)
                case .part(let id): keys.parts.insert(id)
                case .deduplication(let id): keys.deduplication.insert(id)
                case .scheduler(let id): keys.schedulers.insert(id)
                case .own: break
                }
            }
            if keys.jobs.count >= limit {
                report.truncated = true
                break
            }
        } while cursor != "0"
        return keys
    }

    private func lookAgain(
        at suspects: ArraySlice<String>,
        parts: Set<String>,
        _ repairGhosts: Bool,
        _ report: inout QueueReport
    ) async throws(JobQueueError) {
        for start in stride(from: suspects.startIndex, to: suspects.endIndex, by: Self.secondLook) {
            let group = Array(suspects[start..<min(start + Self.secondLook, suspects.endIndex)])
            let reply = try await queue.connection.run(
                QueueScripts.recheck,
                [repairGhosts ? 1 : 0] + group.map { .string($0) }
            )
            try reply.reading { reply throws(RedisError) in
                let answers = try reply.requireArray("recheck")
                guard answers.count == group.count * 3 else {
                    throw RedisError(.unexpectedReply, "recheck: three parts for each id", wasSent: true)
                }
                for (index, id) in group.enumerated() {
                    let exists = try answers[index * 3].requireInt("recheck") == 1
                    let locked = try answers[index * 3 + 1].requireInt("recheck") == 1
                    let states = try answers[index * 3 + 2].requireArray("recheck").compactMap(\.string)
                    if states.count > 1 { report.doubled.append(.init(id: id, states: states)) }
                    if !exists, !states.isEmpty {
                        report.ghosts.append(.init(id: id, states: states))
                        if repairGhosts, !locked { report.repaired += 1 }
                    }
                    if exists, states.isEmpty { report.orphans.append(id) }
                    if locked, !states.contains("active") { report.strayLocks.append(id) }
                    if !exists, states.isEmpty, parts.contains(id) { report.leftovers.append(id) }
                }
            }
        }
    }

    private func checkDeduplication(_ ids: Set<String>, _ report: inout QueueReport) async throws(JobQueueError) {
        for id in ids.sorted() {
            let key = queue.key("de:\(id)")
            // The owner again after its job was not found: the id may have got another one meanwhile.
            guard let owner = try await queue.connection.send(["GET", key]).string,
                try await queue.integer(["PTTL", key]) == -1,
                try await queue.integer(["EXISTS", queue.key(owner)]) == 0,
                try await queue.connection.send(["GET", key]).string == owner
            else { continue }
            report.staleDeduplication.append(id)
        }
    }

    private func checkSchedulers(_ described: Set<String>, _ report: inout QueueReport) async throws(JobQueueError) {
        let planned = Set(try await texts(["ZRANGE", queue.key("repeat"), 0, .init(Self.step - 1)]))
        for id in described.symmetricDifference(planned).sorted() {
            let replies = try await queue.connection.pipeline([
                ["EXISTS", queue.key("repeat:\(id)")], ["ZSCORE", queue.key("repeat"), .string(id)],
            ])
            if (replies[0].int == 1) != !replies[1].isNull { report.brokenSchedulers.append(id) }
        }
    }

    private func texts(_ command: [RedisArgument]) async throws(JobQueueError) -> [String] {
        try await queue.connection.send(command).reading { reply throws(RedisError) in
            try reply.requireArray("ids").compactMap(\.string)
        }
    }

    private func scan(_ command: [RedisArgument]) async throws(JobQueueError) -> (cursor: String, found: [String]) {
        try await queue.connection.send(command).reading { reply throws(RedisError) in
            let parts = try reply.requireArray("scan")
            guard parts.count == 2 else { throw RedisError(.unexpectedReply, "scan: two parts are expected") }
            return (try parts[0].requireString("scan"), try parts[1].requireArray("scan").compactMap(\.string))
        }
    }

    /// The text as a pattern that stands for itself.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            if "*?[]\\^".contains(character) { result.append("\\") }
            result.append(character)
        }
        return result
    }
}
