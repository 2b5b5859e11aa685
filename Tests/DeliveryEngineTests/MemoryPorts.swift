import Kernel
import NotificationBus
import NotificationContract
import Notifications
import Observability
import Synchronization
import Testing

@testable import DeliveryEngine

/// The engine's ports in memory: every call is answered by a rule that a test may change, and remembered.
final class MemoryPorts: JobLeasing, RecipientReading, CapTaking, MessageWriting, PushSending, OutcomeRecording,
    TokenInvalidating, StatisticsCounting, MessageUpkeep, SlotDebtKeeping
{
    struct Outage: Error {}

    struct State {
        var queue: [LeasedJob] = []
        var ended: [EndedJob] = []
        var extended: [String] = []
        var lostLocks: Set<String> = []
        var recipients: [String: Recipient] = [:]
        var capAnswer = CapAnswer.taken
        var givenBack: [CapClaim] = []
        var forced: [CapClaim] = []
        var capsAreAway = false
        var uncounted: [UpkeptMessage] = []
        var marked: [MessageID] = []
        /// Messages that end, reaching nobody, between being found uncounted and being marked.
        var endingMeanwhile: Set<MessageID> = []
        var lost: [UpkeptMessage] = []
        var endedAsLost: [MessageID] = []
        var lostAges: [CategoryID: Duration] = [:]
        var repeats: [Bool] = []
        var recordsLost = 0
        var giveBackFails = false
        var taken: [CapClaim] = []
        var counts: [OutcomeCount: Int] = [:]
        var endRepeats: [Bool] = []
        var endsLost = 0
        var debts: [SlotDebt] = []
        var forgotten: [SlotDebt] = []
        var owingTries = 0
        var owingFails = false
        var forgettingFails = false
        var readFails = false
        var writeFails = false
        var recordFails = false
        var written: [NewMessage] = []
        var answer = SendResult.accepted
        var pushes: [DevicePush] = []
        var records: [DeliveryRecord] = []
        var claims = 0
        var isStopped = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    let state = Mutex(State())
    let now = Timestamp(milliseconds: 1_796_117_400_000)

    func change(_ body: (inout State) -> Void) {
        let waiters = state.withLock { state in
            body(&state)
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    func read<Value: Sendable>(_ body: (State) -> Value) -> Value { state.withLock { body($0) } }

    /// Returns once the condition holds; it is looked at after every call of a port. A test that runs out of its time goes on, to
    /// fail at what it expects.
    func until(_ condition: (State) -> Bool) async {
        while !read(condition), !Task.isCancelled {
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let goesOn = state.withLock { state in
                        if condition(state) || Task.isCancelled { return true }
                        state.waiters.append(continuation)
                        return false
                    }
                    if goesOn { continuation.resume() }
                }
            } onCancel: {
                change { _ in }
            }
        }
    }

    func add(_ user: String, category: CategoryID = .lifecycle, claims: Int = 1) {
        change { state in
            state.queue.append(
                LeasedJob(
                    id: "job-\(user)-\(claims)",
                    token: "t",
                    data: #"{"userId":"\#(user)","category":"\#(category)","body":"Hi"}"#,
                    timestamp: now,
                    delay: .zero,
                    attemptsStarted: claims,
                    attemptsLimit: nil,
                    deferredFailure: nil
                )
            )
        }
    }

    func claim(limit: Int, prioritizedLimit: Int) async throws -> LeasedGroup {
        let jobs = state.withLock { state in
            state.claims += 1
            let jobs = Array(state.queue.prefix(limit))
            state.queue.removeFirst(jobs.count)
            return jobs
        }
        return LeasedGroup(jobs: jobs, nextDue: nil)
    }

    func waitForWork(nextDue: Timestamp?) async {
        await until { !$0.queue.isEmpty || $0.isStopped }
        // A wait that ends at once over and over would keep the stop itself from being heard.
        if read(\.isStopped) { await Task.yield() }
    }

    func extend(_ jobs: [(id: String, token: String)]) async throws -> Set<String> {
        change { $0.extended += jobs.map(\.id) }
        return read(\.lostLocks)
    }

    func end(_ jobs: [EndedJob], isRepeat: Bool) async throws -> Set<String> {
        change { state in
            state.ended += jobs
            state.endRepeats.append(isRepeat)
        }
        // The reply is lost: the jobs are ended, but nobody knows.
        let isLost = state.withLock { state in
            defer { state.endsLost = max(0, state.endsLost - 1) }
            return state.endsLost > 0
        }
        if isLost { throw Outage() }
        return read(\.lostLocks)
    }

    func recoverStalled() async throws {}

    func recipients(for queries: [RecipientQuery]) async throws -> RecipientBatch {
        if read(\.readFails) { throw Outage() }
        let known = read(\.recipients)
        return RecipientBatch(now: now, recipients: queries.map { known[$0.userID.rawValue] ?? Self.reachable })
    }

    static let reachable = Recipient(
        isPermissionGranted: true,
        devices: [
            RecipientDevice(
                id: 1,
                provider: .apns,
                token: "aabbccddeeff",
                environment: .production,
                topic: "app",
                registeredAt: Timestamp(milliseconds: 0)
            )
        ],
        categorySwitch: true,
        localMinute: 720,
        weekKey: "2026-W49"
    )

    func take(_ claims: [CapClaim]) async -> [CapAnswer] {
        let answer = read(\.capAnswer)
        change { $0.taken += claims }
        return claims.map { _ in answer }
    }

    func giveBack(_ claims: [CapClaim]) async throws {
        if read(\.giveBackFails) { throw Outage() }
        change { $0.givenBack += claims }
    }

    func owe(_ debts: [SlotDebt]) async throws {
        // One step: whoever sees the try may change what comes of the next.
        let fails = state.withLock { state in
            if !state.owingFails { state.debts += debts }
            return state.owingFails
        }
        change { $0.owingTries += 1 }
        if fails { throw Outage() }
    }

    func forget(_ debts: [SlotDebt]) async throws {
        if read(\.forgettingFails) { throw Outage() }
        change { state in
            state.forgotten += debts
            state.debts.removeAll(where: debts.contains)
        }
    }

    func settle(limit: Int, by free: @Sendable ([SlotDebt]) async throws -> Void) async throws -> Int {
        let debts = read { Array($0.debts.prefix(limit)) }
        guard !debts.isEmpty else { return 0 }
        try await free(debts)
        change { $0.debts.removeAll(where: debts.contains) }
        return debts.count
    }

    func write(_ messages: [NewMessage], reopening: Set<MessageID>) async throws -> [WriteResult] {
        if read(\.writeFails) { throw Outage() }
        change { $0.written += messages }
        return messages.map { _ in .written }
    }

    func send(_ push: DevicePush, completion: @escaping @Sendable (SendResult) -> Void) {
        change { $0.pushes.append(push) }
        completion(read(\.answer))
    }

    func record(_ records: [DeliveryRecord], isRepeat: Bool) async throws {
        if read(\.recordFails) { throw Outage() }
        change {
            $0.records += records
            $0.repeats.append(isRepeat)
        }
        // The reply is lost: what was recorded is, but nobody knows.
        let isLost = state.withLock { state in
            defer { state.recordsLost = max(0, state.recordsLost - 1) }
            return state.recordsLost > 0
        }
        if isLost { throw Outage() }
    }

    func invalidate(_ token: TokenInvalidation) async throws -> InvalidationResult {
        InvalidationResult(tokenRemoved: true, permissionRevoked: true)
    }

    func add(_ counts: [OutcomeCount: Int], at moment: Timestamp) async {
        change { $0.counts.merge(counts, uniquingKeysWith: +) }
    }

    func takeByForce(_ claims: [CapClaim]) async -> Bool {
        if read(\.capsAreAway) { return false }
        change { $0.forced += claims }
        return true
    }

    func lost(ages: [CategoryID: Duration], lookBack: Duration, limit: Int) async throws -> [UpkeptMessage] {
        state.withLock { state in
            state.lostAges = ages
            return Array(state.lost.prefix(limit))
        }
    }

    func endLost(_ ids: [MessageID]) async throws -> [OutcomeCount: Int] {
        state.withLock { state in
            state.endedAsLost += ids
            let ended = state.lost.filter { ids.contains($0.id) }
            state.lost.removeAll { ids.contains($0.id) }
            return Dictionary(
                ended.map {
                    (OutcomeCount(category: $0.category.rawValue, outcome: $0.keepsSlot ? "unknown" : "failed"), 1)
                },
                uniquingKeysWith: +
            )
        }
    }

    func uncounted(limit: Int) async throws -> [UpkeptMessage] {
        read { Array($0.uncounted.prefix(limit)) }
    }

    func markCounted(_ found: [UpkeptMessage]) async throws -> Set<MessageID> {
        state.withLock { state in
            let ids = Set(found.map(\.id)).subtracting(state.endingMeanwhile)
            state.uncounted.removeAll { ids.contains($0.id) }
            state.marked += found.map(\.id).filter(ids.contains)
            return ids
        }
    }
}
