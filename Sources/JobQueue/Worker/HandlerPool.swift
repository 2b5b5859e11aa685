import Kernel
import Synchronization

/// Runs the handler over claimed jobs, at most `concurrency` at a time, and gathers how they end.
///
/// Runners are long-lived tasks that take one job after another, so a job costs no task of its own. A runner wakes the next
/// one only after it was woken itself: quick handlers keep a few runners busy, slow ones soon have all of them at work.
final class HandlerPool: Sendable {
    typealias Work = @Sendable (HeldJob) async -> EndedJob
    private typealias Waiter = CheckedContinuation<Void, Never>

    /// When the two loops that serve the pool are called.
    struct Limits: Sendable {
        let concurrency: Int
        /// How many ended jobs are worth a call to Redis at once.
        let endedGroup: Int
    }

    private struct Runner {
        var task: Task<Void, Never>?
        var current: HeldJob?
        var waiter: Waiter?
        /// Cancelled with the job it runs, so it must not take another.
        var isRetired = false
    }

    private struct State {
        var ready: [HeldJob] = []
        /// The first of `ready` that no runner took yet.
        var head = 0
        var runners: [Runner] = []
        var freeRunners: [Int] = []
        var idle: [Int] = []
        var running = 0
        var isWaking = false
        var ended: [EndedJob] = []
        /// Ended jobs that are on their way to Redis.
        var leaving: [EndedJob] = []
        /// The claiming loop is called once so many places are free; 0 when it does not wait for that.
        var ringAtFree = 0
        var isClosed = false

        var readyCount: Int { ready.count - head }
        /// Nothing runs and nothing will by itself.
        var isQuiet: Bool { running == 0 && readyCount == 0 }
    }

    private enum Step {
        case run(HeldJob, wake: Waiter?)
        case wait
        case end
    }

    private let limits: Limits
    private let work: Work
    /// Rung when ended jobs may be worth a call.
    let endedAlarm: Alarm
    /// Rung when free places may be worth a call.
    let freeAlarm: Alarm
    private let state = Mutex(State())

    init(limits: Limits, executor: ThreadExecutor, work: @escaping Work) {
        self.limits = limits
        self.work = work
        endedAlarm = executor.makeAlarm()
        freeAlarm = executor.makeAlarm()
    }

    // MARK: For the claiming loop

    /// How many more jobs may be claimed.
    /// - Parameter ringAt: `freeAlarm` is rung once so many places are free, unless that many are free already.
    func freePlaces(ringAt: Int) -> Int {
        state.withLock { state in
            let free = free(state)
            state.ringAtFree = free < ringAt ? ringAt : 0
            return free
        }
    }

    /// Takes over claimed jobs, in the order they shall start.
    func start(_ jobs: [HeldJob]) {
        guard !jobs.isEmpty else { return }
        let wake = state.withLock { state in
            if state.head == state.ready.count {
                state.ready = jobs
            } else {
                state.ready = Array(state.ready[state.head...]) + jobs
            }
            state.head = 0
            return wakeOne(&state)
        }
        wake?.resume()
    }

    // MARK: For the releasing loop

    enum Gathered {
        case none
        /// So many wait, but not yet enough to go at once.
        case some
        case batch([EndedJob])
        /// The pool is closed and nothing is left.
        case over
    }

    /// Takes the ended jobs when there are enough of them, when nothing else runs, or in any case with `evenFew`.
    func gather(evenFew: Bool, upTo limit: Int) -> Gathered {
        state.withLock { state in
            if state.ended.isEmpty { return state.isClosed && state.isQuiet ? .over : .none }
            guard evenFew || state.isClosed || state.isQuiet || state.ended.count >= limits.endedGroup else {
                return .some
            }
            if state.ended.count <= limit {
                swap(&state.leaving, &state.ended)
                state.ended.removeAll(keepingCapacity: true)
            } else {
                state.leaving = Array(state.ended[..<limit])
                state.ended.removeFirst(limit)
            }
            return .batch(state.leaving)
        }
    }

    /// The batch that was gathered last is known to Redis, or given up.
    func left() {
        state.withLock { state in
            state.leaving.removeAll(keepingCapacity: true)
            ringFree(&state)
        }
    }

    // MARK: For locks and the stop

    /// Every job whose lock this worker holds.
    var held: [HeldJob] {
        state.withLock { state in
            Array(state.ready[state.head...]) + state.runners.compactMap(\.current)
                + (state.ended + state.leaving).map(\.held)
        }
    }

    var runningCount: Int { state.withLock { $0.running } }

    /// Cancels the handlers of these jobs. Their runners take no other job.
    func cancel(_ jobs: [HeldJob]) {
        let wanted = Set(jobs.map(ObjectIdentifier.init))
        let tasks = state.withLock { state in
            state.runners.indices.compactMap { index -> Task<Void, Never>? in
                guard let current = state.runners[index].current, wanted.contains(ObjectIdentifier(current)) else {
                    return nil
                }
                state.runners[index].isRetired = true
                return state.runners[index].task
            }
        }
        // Outside the lock: cancelling runs code of the handler's.
        for task in tasks { task.cancel() }
    }

    /// Takes back the jobs that no runner took yet.
    func takeReady() -> [HeldJob] {
        state.withLock { state in
            defer {
                state.ready = []
                state.head = 0
            }
            return Array(state.ready[state.head...])
        }
    }

    /// The jobs whose handlers are at work.
    var running: [HeldJob] { state.withLock { $0.runners.compactMap(\.current) } }

    /// Puts in what ended without its handler.
    func add(_ ended: [EndedJob]) {
        state.withLock { $0.ended += ended }
        endedAlarm.ring()
    }

    /// No more jobs will come. What has ended still leaves, and idle runners end. Handlers that are still at work are
    /// waited for only when `abandoning` is false.
    func close(abandoning: Bool) {
        let waiters = state.withLock { state in
            state.isClosed = true
            if abandoning { state.running = 0 }
            defer { state.idle = [] }
            return state.idle.compactMap { index -> Waiter? in
                defer { state.runners[index].waiter = nil }
                return state.runners[index].waiter
            }
        }
        for waiter in waiters { waiter.resume() }
        endedAlarm.ring()
    }

    // MARK: Runners

    private func runnerLoop(_ index: Int) async {
        var ended: EndedJob?
        var hasArrived = true
        while true {
            switch advance(index, ended, hasArrived: hasArrived) {
            case .run(let held, let wake):
                wake?.resume()
                ended = await work(held)
                hasArrived = false
            case .wait:
                await withCheckedContinuation { continuation in
                    if !park(index, continuation) { continuation.resume() }
                }
                ended = nil
                hasArrived = true
            case .end: return
            }
        }
    }

    /// Notes how the last job ended and takes the next.
    private func advance(_ index: Int, _ ended: EndedJob?, hasArrived: Bool) -> Step {
        let (step, rings) = state.withLock { state -> (Step, Bool) in
            if hasArrived { state.isWaking = false }
            if let ended {
                state.runners[index].current = nil
                state.running = max(state.running - 1, 0)
                if !ended.held.isGivenUp { state.ended.append(ended) }
            }
            let step = nextStep(index, &state)
            guard ended != nil else { return (step, state.isClosed) }
            ringFree(&state)
            return (step, isWorthRinging(state))
        }
        if rings { endedAlarm.ring() }
        return step
    }

    private func nextStep(_ index: Int, _ state: inout State) -> Step {
        if state.runners[index].isRetired {
            state.runners[index] = Runner()
            state.freeRunners.append(index)
            // Its place may be what the next job waits for.
            wakeOne(&state)?.resume()
            return .end
        }
        while state.head < state.ready.count {
            let held = state.ready[state.head]
            state.head += 1
            if held.isLost { continue }
            state.runners[index].current = held
            state.running += 1
            return .run(held, wake: wakeOne(&state))
        }
        return state.isClosed ? .end : .wait
    }

    /// The first of a group starts the clock of the releasing loop; a full group, and the last of all, end its wait.
    private func isWorthRinging(_ state: borrowing State) -> Bool {
        state.ended.count == 1 || state.ended.count == limits.endedGroup || state.isQuiet || state.isClosed
    }

    private func park(_ index: Int, _ continuation: CheckedContinuation<Void, Never>) -> Bool {
        state.withLock { state in
            guard state.readyCount == 0, !state.isClosed else { return false }
            state.runners[index].waiter = continuation
            state.idle.append(index)
            return true
        }
    }

    /// Has one more runner look for a job, when there is one and nobody is on the way already.
    private func wakeOne(_ state: inout State) -> Waiter? {
        guard state.readyCount > 0, !state.isWaking else { return nil }
        if let index = state.idle.popLast() {
            state.isWaking = true
            defer { state.runners[index].waiter = nil }
            return state.runners[index].waiter
        }
        let alive = state.runners.count - state.freeRunners.count
        guard alive < limits.concurrency else { return nil }
        state.isWaking = true
        let index = state.freeRunners.popLast() ?? state.runners.count
        if index == state.runners.count { state.runners.append(Runner()) }
        // It starts elsewhere, after this lock is free.
        state.runners[index].task = Task.detached { await self.runnerLoop(index) }
        return nil
    }

    private func free(_ state: borrowing State) -> Int {
        let unknown = state.ended.count + state.leaving.count
        // Results that Redis does not take must not pile up.
        guard unknown < max(1024, limits.concurrency * 2) else { return 0 }
        // One job after another means that the end of one is known before the next is chosen.
        if limits.concurrency == 1, unknown > 0 { return 0 }
        return max(limits.concurrency - state.running - state.readyCount, 0)
    }

    private func ringFree(_ state: inout State) {
        guard state.ringAtFree > 0, free(state) >= state.ringAtFree else { return }
        state.ringAtFree = 0
        freeAlarm.ring()
    }
}
