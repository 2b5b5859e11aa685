import HTTPServer
import Kernel
import Notifications
import Observability
import PushTransport
import Synchronization

/// Sends one push to many targets at once and gathers what becomes of each, for an answer in bounded time.
///
/// What has no outcome at the deadline goes on: it is still counted, and a dead token still goes.
struct DirectSender: Sendable {
    /// A caller learns what is known by then; less than a request may take.
    static let standardDeadline = Duration.seconds(8)
    /// Pushes of all callers without an outcome; bounds memory.
    static let limit = 20_000

    /// What is done with the outcomes, each beside its target.
    typealias Settling = @Sendable ([(target: PushTarget, outcome: PushOutcome)]) async -> Void

    private let push: any DirectPushing
    private let telemetry: Telemetry
    private let deadline: Duration
    private let inFlight = InFlight()

    init(push: any DirectPushing, telemetry: Telemetry, deadline: Duration = Self.standardDeadline) {
        self.push = push
        self.telemetry = telemetry
        self.deadline = deadline
    }

    /// - Parameters:
    ///   - template: the push as every target gets it; token, environment, topic and provider are the target's own.
    ///   - kind: for metric and log.
    ///   - settle: told every outcome, before this returns unless the deadline comes first.
    /// - Returns: the outcomes in the order of the targets, `nil` where none was known in time.
    /// - Throws: 503 while too many pushes are without an outcome.
    func send(
        _ template: PushRequest,
        to targets: [PushTarget],
        kind: DirectKind,
        settle: @escaping Settling
    ) async throws(Problem) -> [PushOutcome?] {
        guard inFlight.enter(targets.count) else { throw .tooManyPushes }
        let board = OutcomeBoard(count: targets.count)
        for (index, target) in targets.enumerated() {
            push.send(template.addressed(to: target)) { board.note($0, at: index) }
        }
        Task {
            let outcomes = await board.all()
            inFlight.leave(targets.count)
            report(outcomes, kind)
            await settle(Array(zip(targets, outcomes)))
            board.settled()
        }
        return await board.outcomes(within: deadline)
    }

    private func report(_ outcomes: [PushOutcome], _ kind: DirectKind) {
        var counts: [String: Int] = [:]
        for outcome in outcomes { counts[outcome.word, default: 0] += 1 }
        for (word, count) in counts {
            telemetry.metrics.counter(
                "gateway_direct_pushes_total",
                help: "Live Activity, background and call pushes sent past the queue, by what became of them.",
                labels: [("kind", kind.rawValue), ("result", word)]
            )
            .increment(by: count)
        }
        guard !counts.isEmpty else { return }
        telemetry.logger.info(
            "pushes sent past the queue",
            ["kind": .string(kind.rawValue), "results": .object(counts.map { JSONMember($0, .integer($1)) })]
        )
    }

    private final class InFlight: Sendable {
        private let count = Mutex(0)

        func enter(_ number: Int) -> Bool {
            count.withLock { count in
                // One call is always let in.
                guard count == 0 || count + number <= DirectSender.limit else { return false }
                count += number
                return true
            }
        }

        func leave(_ number: Int) { count.withLock { $0 -= number } }
    }
}

/// What a push outside the categories is for.
enum DirectKind: String, Sendable, CaseIterable {
    case activityStart = "activity_start"
    case activityUpdate = "activity_update"
    case activityEnd = "activity_end"
    case background
    case voip
}

extension PushRequest {
    fileprivate func addressed(to target: PushTarget) -> PushRequest {
        var request = self
        request.deviceToken = target.token
        request.environment = target.environment
        request.topic = target.topic
        request.provider = target.provider
        return request
    }
}

/// Gathers outcomes from many threads.
private final class OutcomeBoard: Sendable {
    private struct State {
        var outcomes: [PushOutcome?]
        var left: Int
        var isSettled = false
        var gatherer: CheckedContinuation<Void, Never>?
        var caller: CheckedContinuation<Void, Never>?
    }

    private let state: Mutex<State>

    init(count: Int) {
        state = Mutex(State(outcomes: Array(repeating: nil, count: count), left: count))
    }

    func note(_ outcome: PushOutcome, at index: Int) {
        let gatherer = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.outcomes[index] = outcome
            state.left -= 1
            guard state.left == 0 else { return nil }
            defer { state.gatherer = nil }
            return state.gatherer
        }
        gatherer?.resume()
    }

    /// Every outcome, once the last one is there.
    func all() async -> [PushOutcome] {
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                if state.left > 0 { state.gatherer = continuation }
                return state.left == 0
            }
            if isDone { continuation.resume() }
        }
        return state.withLock { $0.outcomes.compactMap { $0 } }
    }

    func settled() {
        release { $0.isSettled = true }
    }

    /// The outcomes that are known once all is settled or the time is up.
    func outcomes(within limit: Duration) async -> [PushOutcome?] {
        let timer = Task {
            try await Task.sleep(for: limit)
            release { _ in }
        }
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                if !state.isSettled { state.caller = continuation }
                return state.isSettled
            }
            if isDone { continuation.resume() }
        }
        timer.cancel()
        return state.withLock { $0.outcomes }
    }

    private func release(_ change: (inout State) -> Void) {
        let caller = state.withLock { state in
            change(&state)
            defer { state.caller = nil }
            return state.caller
        }
        caller?.resume()
    }
}
