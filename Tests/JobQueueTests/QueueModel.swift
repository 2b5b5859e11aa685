/// What a queue should hold, written as plainly as possible: the measure for `ModelTests`.
///
/// Times are milliseconds of the test's clock.
struct QueueModel {
    struct Job: Equatable {
        var priority = 0
        var started = 0
        var made = 0
        var stalls = 0
        /// The worker and claim that hold the lock.
        var lock: Int?
        var takenAt: Int64 = 0
        var mustFail = false
        var vanishesAtEnd = false
        var lifo = false
    }

    struct Ranked: Equatable {
        let score: Int64
        let id: String

        /// Redis orders equal scores by the bytes of the member.
        static func precedes(_ left: Ranked, _ right: Ranked) -> Bool {
            left.score != right.score ? left.score < right.score : left.id.utf8.lexicographicallyPrecedes(right.id.utf8)
        }
    }

    static let lockDuration: Int64 = 30_000
    static let maxStalledCount = 1

    var jobs: [String: Job] = [:]
    /// The newest first, the next one last.
    var wait: [String] = []
    var active: [String] = []
    var prioritized: [Ranked] = []
    var delayed: [Ranked] = []
    var completed: Set<String> = []
    var failed: Set<String> = []
    var marked: Set<String> = []
    var isPaused = false
    var counter = 0
    var priorityCounter: Int64 = 0

    // MARK: Adding

    /// Returns the id, and whether the job is new.
    mutating func add(id wanted: String?, delay: Int64, priority: Int, lifo: Bool, vanishes: Bool, now: Int64) -> (
        String, Bool
    ) {
        counter += 1
        if let wanted, jobs[wanted] != nil { return (wanted, false) }
        let id = wanted ?? String(counter)
        jobs[id] = Job(priority: priority, vanishesAtEnd: vanishes, lifo: lifo)
        if delay > 0 {
            insertDelayed(id, due: now + delay)
        } else {
            makeReady(id, asNext: lifo)
        }
        return (id, true)
    }

    private mutating func makeReady(_ id: String, asNext: Bool = false) {
        let priority = jobs[id]?.priority ?? 0
        if priority > 0 {
            priorityCounter += 1
            insert(Ranked(score: Int64(priority) << 32 + priorityCounter, id: id), into: &prioritized)
        } else if asNext {
            wait.append(id)
        } else {
            wait.insert(id, at: 0)
        }
    }

    private mutating func insertDelayed(_ id: String, due: Int64) {
        let last = delayed.last { $0.score / 4096 == due }
        insert(Ranked(score: last.map { $0.score + 1 } ?? due * 4096, id: id), into: &delayed)
    }

    private func insert(_ entry: Ranked, into list: inout [Ranked]) {
        let place = list.firstIndex { Ranked.precedes(entry, $0) } ?? list.endIndex
        list.insert(entry, at: place)
    }

    // MARK: Taking

    mutating func claim(limit: Int, holder: Int, now: Int64) -> [String] {
        promote(now)
        var taken: [String] = []
        if !isPaused, limit > 0 {
            let share = min(prioritized.count, limit > 1 ? (limit + 3) / 4 : 0)
            takePlain(limit - share, into: &taken)
            for _ in 0..<min(limit - taken.count, prioritized.count) { taken.append(prioritized.removeFirst().id) }
            takePlain(limit - taken.count, into: &taken)
            if prioritized.isEmpty { priorityCounter = 0 }
        }
        for id in taken {
            jobs[id]?.lock = holder
            jobs[id]?.started += 1
            jobs[id]?.takenAt = now
            active.insert(id, at: 0)
        }
        return taken
    }

    private mutating func takePlain(_ most: Int, into taken: inout [String]) {
        for _ in 0..<min(most, wait.count) { taken.append(wait.removeLast()) }
    }

    private mutating func promote(_ now: Int64) {
        while let first = delayed.first, first.score / 4096 <= now {
            delayed.removeFirst()
            makeReady(first.id)
        }
    }

    // MARK: Letting go

    /// Whether the holder may end or move the job.
    func isHeld(_ id: String, by holder: Int) -> Bool {
        jobs[id]?.lock == holder && active.contains(id)
    }

    private mutating func leaveActive(_ id: String) {
        active.removeAll { $0 == id }
        marked.remove(id)
        jobs[id]?.lock = nil
    }

    mutating func finish(_ id: String, success: Bool) {
        leaveActive(id)
        jobs[id]?.made += 1
        if !success { jobs[id]?.mustFail = false }
        if jobs[id]?.vanishesAtEnd == true {
            jobs[id] = nil
        } else if success {
            completed.insert(id)
        } else {
            failed.insert(id)
        }
    }

    mutating func delay(_ id: String, due: Int64, counts: Bool) {
        leaveActive(id)
        if counts { jobs[id]?.made += 1 }
        insertDelayed(id, due: due)
    }

    mutating func giveBack(_ id: String) {
        leaveActive(id)
        let priority = jobs[id]?.priority ?? 0
        if priority > 0 {
            insert(Ranked(score: Int64(priority) << 32, id: id), into: &prioritized)
        } else {
            wait.append(id)
        }
    }

    // MARK: Losing workers

    /// The lock of a job lapsed.
    mutating func loseLock(_ id: String) { jobs[id]?.lock = nil }

    mutating func recoverStalled(now: Int64) -> [String] {
        let stalled = active.filter { id in
            guard let job = jobs[id], job.lock == nil else { return false }
            return marked.contains(id) || job.takenAt < now - Self.lockDuration
        }
        active.removeAll { stalled.contains($0) }
        for id in stalled {
            jobs[id]?.stalls += 1
            if let stalls = jobs[id]?.stalls, stalls > Self.maxStalledCount { jobs[id]?.mustFail = true }
            wait.append(id)
        }
        marked = Set(active)
        return stalled
    }

    // MARK: Operators

    /// `nil` when a worker holds it.
    mutating func remove(_ id: String) -> Bool? {
        guard let job = jobs[id] else { return false }
        if job.lock != nil { return nil }
        jobs[id] = nil
        wait.removeAll { $0 == id }
        active.removeAll { $0 == id }
        prioritized.removeAll { $0.id == id }
        delayed.removeAll { $0.id == id }
        completed.remove(id)
        failed.remove(id)
        marked.remove(id)
        return true
    }

    mutating func retry(_ id: String) -> Bool {
        guard completed.remove(id) != nil || failed.remove(id) != nil else { return false }
        jobs[id]?.mustFail = false
        // One that asked to be the very next asks so again.
        makeReady(id, asNext: jobs[id]?.lifo == true)
        return true
    }
}
