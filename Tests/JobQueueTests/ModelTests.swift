import Foundation
import JobQueue
import Kernel
import RedisClient
import TestSupport
import Testing

/// B3, E10: whatever the order in which jobs are added, taken, ended, moved, stalled, paused, retried and removed, and
/// workers lost, no job is lost, none is in two states, and the order is the one that `QueueModel` foretells.
///
/// A failure names its seed; `VARSEL_MODEL_SEED=n` runs that one alone, `VARSEL_MODEL_RUNS=n` as many from the first on.
struct ModelTests {
    private static let seeds: Range<UInt64> = {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["VARSEL_MODEL_SEED"].flatMap({ UInt64($0) }) { return seed..<seed + 1 }
        return 1..<(environment["VARSEL_MODEL_RUNS"].flatMap { UInt64($0) } ?? 500) + 1
    }()
    private static let lanes = 4

    @Test(arguments: 0..<UInt64(lanes))
    func `random interleavings lose nothing, double nothing and keep the order`(lane: UInt64) async throws {
        try await TestRedis.run { redis in
            for seed in Self.seeds where seed % UInt64(Self.lanes) == lane {
                var run = try ModelRun(redis: redis, seed: seed)
                let problem: String?
                do { problem = try await run.play() } catch { problem = "\(error)" }
                await run.end()
                if let problem {
                    Issue.record("seed \(seed): \(problem)\nsteps:\n\(run.steps.joined(separator: "\n"))")
                    return
                }
            }
        }
    }
}

/// One interleaving: a queue of its own, two workers, and the model beside them.
private struct ModelRun {
    private let seed: UInt64
    private let fixture: QueueFixture
    private let workers: [JobConsumer]
    private var random: SeededGenerator
    private var model = QueueModel()
    private var held: [(job: ClaimedJob, holder: Int)] = []
    private var claims = 0
    /// Ids that left the queue for good.
    private var gone: Set<String> = []
    private var known: Set<String> = []
    private(set) var steps: [String] = []

    init(redis: TestRedis, seed: UInt64) throws {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        let options = JobConsumer.Options(maxStalledCount: QueueModel.maxStalledCount)
        fixture = try QueueFixture(redis: redis, options: options, name: "model-\(seed)")
        workers = [fixture.consumer, fixture.otherConsumer(options: options)]
    }

    /// Plays the run to its end, where every job has ended.
    /// - Returns: what went wrong.
    mutating func play() async throws -> String? {
        for _ in 0..<Int.random(in: 20...60, using: &random) {
            if let problem = try await step() { return problem }
            if let problem = try await difference() { return problem }
        }
        return try await finishEverything()
    }

    func end() async {
        for worker in workers { await worker.close() }
    }

    private var now: Int64 { fixture.clock.now.milliseconds }

    // MARK: Steps

    private mutating func step() async throws -> String? {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<25: return try await add()
        case 25..<50: return try await claim(limit: Int.random(in: 0...6, using: &random))
        case 50..<68: return try await finish()
        case 68..<77: return try await move()
        case 77..<83: loseWorker()
        case 83..<88: return try await checkStalled()
        case 88..<91: try await togglePause()
        case 91..<94: return try await remove()
        case 94..<97: return try await retry()
        default: advance(by: Int64.random(in: 0...40_000, using: &random))
        }
        return nil
    }

    private mutating func add() async throws -> String? {
        var jobs: [NewJob] = []
        var expected: [AddResult] = []
        for _ in 0..<Int.random(in: 1...5, using: &random) {
            let id = Int.random(in: 0..<4, using: &random) == 0 ? "own-\(Int.random(in: 0..<6, using: &random))" : nil
            let delay: Int64 = Int.random(in: 0..<4, using: &random) == 0 ? .random(in: 1...20_000, using: &random) : 0
            let priority = Int.random(in: 0..<3, using: &random) == 0 ? Int.random(in: 1...3, using: &random) : 0
            let lifo = Int.random(in: 0..<8, using: &random) == 0
            let vanishes = Int.random(in: 0..<8, using: &random) == 0
            let (given, isNew) = model.add(
                id: id,
                delay: delay,
                priority: priority,
                lifo: lifo,
                vanishes: vanishes,
                now: now
            )
            expected.append(isNew ? .added(id: given) : .duplicate(id: given))
            if isNew {
                known.insert(given)
                gone.remove(given)
            }
            jobs.append(
                NewJob(
                    name: "n",
                    data: "{}",
                    options: JobOptions(
                        jobID: id,
                        delay: .milliseconds(delay),
                        priority: priority,
                        lifo: lifo,
                        removeOnComplete: vanishes ? .removeAtOnce : nil,
                        removeOnFail: vanishes ? .removeAtOnce : nil
                    )
                )
            )
        }
        note("add \(expected)")
        let results = try await fixture.queue.addBulk(jobs)
        return results == expected ? nil : "add answered \(results) instead of \(expected)"
    }

    private mutating func claim(limit: Int) async throws -> String? {
        claims += 1
        let expected = model.claim(limit: limit, holder: claims, now: now)
        note("claim \(limit): \(expected)")
        let worker = Int.random(in: 0..<workers.count, using: &random)
        let result = try await workers[worker].claim(limit: limit)
        held += result.jobs.map { ($0, claims) }
        guard result.jobs.map(\.id) == expected else { return "claim gave \(result.jobs.map(\.id)), not \(expected)" }
        for job in result.jobs {
            let should = model.jobs[job.id]
            guard job.attemptsStarted == should?.started, (job.deferredFailure != nil) == should?.mustFail else {
                return "job \(job.id) is \(job), should be \(String(describing: should))"
            }
        }
        return nil
    }

    private mutating func someHeld() -> [(job: ClaimedJob, holder: Int)] {
        held.shuffle(using: &random)
        let count = min(held.count, Int.random(in: 1...4, using: &random))
        defer { held.removeFirst(count) }
        return Array(held.prefix(count))
    }

    private mutating func finish() async throws -> String? {
        // A group is judged as it stands before anything of it is written.
        let entries = someHeld().map { (job: $0.job, result: releaseResult($0.job.id, $0.holder)) }
        var group: [FinishedJob] = []
        for (job, result) in entries {
            let success = job.deferredFailure == nil && Bool.random(using: &random)
            group.append(
                FinishedJob(job.locked, success ? .completed(returnvalue: "null") : .failed(reason: "no", trace: "t"))
            )
            guard result == .done else { continue }
            model.finish(job.id, success: success)
            if model.jobs[job.id] == nil { gone.insert(job.id) }
        }
        let expected = entries.map(\.result)
        note("finish \(group.map(\.job.id)): \(expected)")
        let results = try await workers[0].finish(group)
        return results == expected ? nil : "finish answered \(results) instead of \(expected)"
    }

    private mutating func move() async throws -> String? {
        let entries = someHeld().map { (job: $0.job, result: releaseResult($0.job.id, $0.holder)) }
        let isGivingBack = Bool.random(using: &random)
        var group: [MovedJob] = []
        var dues: [(due: Int64, counts: Bool)] = []
        for (job, _) in entries {
            let due = now + .random(in: 0...20_000, using: &random)
            let counts = Bool.random(using: &random)
            dues.append((due, counts))
            let target = MovedJob.Target.delayed(until: Timestamp(milliseconds: due), skipAttempt: !counts)
            group.append(
                MovedJob(job.locked, to: isGivingBack ? .waiting : target, failedReason: counts ? "later" : nil)
            )
        }
        // From the last to the first, so that the first of the group is the next in line.
        for (entry, when) in zip(entries, dues).reversed() where entry.result == .done {
            if isGivingBack {
                model.giveBack(entry.job.id)
            } else {
                model.delay(entry.job.id, due: when.due, counts: when.counts)
            }
        }
        let expected = entries.map(\.result)
        note("move \(group.map(\.job.id)) \(isGivingBack ? "back" : "later"): \(expected)")
        let results = try await workers[1].move(group)
        return results == expected ? nil : "move answered \(results) instead of \(expected)"
    }

    private func releaseResult(_ id: String, _ holder: Int) -> ReleaseResult {
        if model.jobs[id] == nil { return .missing }
        if model.isHeld(id, by: holder) { return .done }
        return model.jobs[id]?.lock == nil ? .notLocked : .lockLost
    }

    /// A worker dies: what it held is locked no longer, and it never ends its jobs; or only its locks lapse, and it tries.
    private mutating func loseWorker() {
        let isDead = Bool.random(using: &random)
        let lost = someHeld()
        note("\(isDead ? "dead worker" : "lapsed locks"): \(lost.map(\.job.id))")
        for (job, holder) in lost where model.jobs[job.id]?.lock == holder {
            model.loseLock(job.id)
            locksToDelete.append(job.id)
        }
        if !isDead { held += lost }
    }

    private var locksToDelete: [String] = []

    private mutating func checkStalled() async throws -> String? {
        // The interval is kept by the server's own clock.
        _ = try await fixture.command("DEL", fixture.key("stalled-check"))
        try await deleteLocks()
        let expected = model.recoverStalled(now: now)
        note("stalled: \(expected)")
        let result = try await workers[0].recoverStalled()
        return result.recovered == expected ? nil : "recovered \(result.recovered) instead of \(expected)"
    }

    private mutating func deleteLocks() async throws {
        for id in locksToDelete { _ = try await fixture.command("DEL", fixture.key("\(id):lock")) }
        locksToDelete = []
    }

    private mutating func togglePause() async throws {
        model.isPaused.toggle()
        note(model.isPaused ? "pause" : "resume")
        if model.isPaused { try await fixture.queue.pause() } else { try await fixture.queue.resume() }
    }

    private mutating func remove() async throws -> String? {
        guard let id = known.sorted().randomElement(using: &random) else { return nil }
        let expected = model.remove(id)
        note("remove \(id): \(String(describing: expected))")
        if expected == true { gone.insert(id) }
        let result = try await fixture.queue.remove(id)
        let should: JobQueue.RemoveResult = expected.map { $0 ? .removed : .missing } ?? .locked
        return result == should ? nil : "remove \(id) answered \(result) instead of \(should)"
    }

    private mutating func retry() async throws -> String? {
        guard let id = known.sorted().randomElement(using: &random) else { return nil }
        let expected = model.retry(id)
        note("retry \(id): \(expected)")
        let result = try await fixture.queue.retry(id)
        return (result == .waiting) == expected ? nil : "retry \(id) answered \(result), expected \(expected)"
    }

    private mutating func advance(by milliseconds: Int64) {
        note("\(milliseconds) ms pass")
        fixture.clock.advance(by: .milliseconds(milliseconds))
    }

    // MARK: Comparing

    /// How the queue differs from the model.
    private mutating func difference() async throws -> String? {
        try await deleteLocks()
        let replies = try await fixture.redis.client.pipeline([
            RedisCommand(["LRANGE", fixture.key("wait"), 0, -1]),
            RedisCommand(["LRANGE", fixture.key("active"), 0, -1]),
            RedisCommand(["ZRANGE", fixture.key("prioritized"), 0, -1]),
            RedisCommand(["ZRANGE", fixture.key("delayed"), 0, -1]),
            RedisCommand(["ZRANGE", fixture.key("completed"), 0, -1]),
            RedisCommand(["ZRANGE", fixture.key("failed"), 0, -1]), RedisCommand(["SMEMBERS", fixture.key("stalled")]),
        ])
        let lists = try replies.map { try $0.requireArray("state").compactMap(\.string) }
        let ordered: [(String, [String], [String])] = [
            ("wait", lists[0], model.wait), ("active", lists[1], model.active),
            ("prioritized", lists[2], model.prioritized.map(\.id)), ("delayed", lists[3], model.delayed.map(\.id)),
            ("completed", lists[4].sorted(), model.completed.sorted()),
            ("failed", lists[5].sorted(), model.failed.sorted()),
            ("stalled", lists[6].filter { model.active.contains($0) }.sorted(), model.marked.sorted()),
        ]
        for (name, found, expected) in ordered where found != expected {
            return "\(name) is \(found), should be \(expected)"
        }
        return nil
    }

    /// Ends whatever is left, and looks whether every job that was added ended or was removed.
    private mutating func finishEverything() async throws -> String? {
        if model.isPaused { try await togglePause() }
        for _ in 0..<500 {
            advance(by: 31_000)
            try await deleteLocks()
            if let problem = try await checkStalled() { return problem }
            if let problem = try await claim(limit: 6) { return problem }
            while !held.isEmpty { if let problem = try await finish() { return problem } }
            if let problem = try await difference() { return problem }
            if model.active.isEmpty, model.wait.isEmpty, model.prioritized.isEmpty, model.delayed.isEmpty { break }
        }
        let ended = model.completed.union(model.failed)
        guard ended == known.subtracting(gone) else {
            return "lost: \(known.subtracting(gone).subtracting(ended).sorted())"
        }
        for id in ended {
            let hash = try await fixture.hash(id)
            let should = model.jobs[id]
            guard hash["ats"] == should.map({ String($0.started) }), hash["atm"] == should.map({ String($0.made) })
            else {
                return "job \(id) counts \(hash), should be \(String(describing: should))"
            }
        }
        return try await fixture.expectAtRest(jobs: ended.count) ? nil : "the queue is not at rest"
    }

    private mutating func note(_ step: String) { steps.append(step) }
}
