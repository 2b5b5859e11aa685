import HTTP2
import Kernel
import Notifications
import Observability
import Synchronization

/// The connections to FCM. It carries out what `PoolMachine` decides, as `APNsPool` does for Apple, with what is Google's own:
/// an access token that is fetched before a connection is made, and quotas of the whole project.
///
/// An FCM that cannot be reached gives pushes back at once and asks again after a while, so that a worker full of them goes on
/// serving Apple.
final class FCMPool: PushPool {
    struct Live {
        let connection: HTTP2ClientConnection
        let generation: Int
    }

    struct State {
        var machine: PoolMachine
        var live: [Int: Live] = [:]
        /// Connections that take no more pushes but still owe answers.
        var retired: [ObjectIdentifier: HTTP2ClientConnection] = [:]
        var breaker: DeadTokenBreaker
        /// Exceeded quotas since the last accepted push.
        var quotaHits = 0
        /// Failures to connect or to get a token in a row.
        var failures = 0
        var generator = SystemRandomNumberGenerator()
        var drainWaiters: [CheckedContinuation<Void, Never>] = []
    }

    /// What is done after the lock is let go.
    private enum Effect {
        case send(PendingPush, HTTP2ClientConnection, AccessToken, lane: Int, generation: Int)
        case action(PoolMachine.Action, HTTP2ClientConnection?)
        case resumeDrain([CheckedContinuation<Void, Never>])
    }

    let name = "fcm"
    let configuration: FCMConfiguration
    let tokens: AccessTokenSource
    let metrics: FCMMetrics
    let telemetry: Telemetry
    let logger: Logger
    let policy: FCMPolicy
    let now: @Sendable () -> ContinuousClock.Instant
    let state: Mutex<State>
    let path: String

    init(
        configuration: FCMConfiguration,
        tokens: AccessTokenSource,
        metrics: FCMMetrics,
        telemetry: Telemetry,
        now: @escaping @Sendable () -> ContinuousClock.Instant
    ) {
        self.configuration = configuration
        self.tokens = tokens
        self.metrics = metrics
        self.telemetry = telemetry
        self.now = now
        logger = telemetry.logger.with(["provider": "fcm"])
        policy = FCMPolicy(retryPause: configuration.retryPause, quotaPause: configuration.quotaPause)
        path = "/v1/projects/\(configuration.projectID)/messages:send"
        var limits = PoolMachine.Limits()
        limits.lanes = configuration.connections
        limits.streams = configuration.streams
        limits.pace = configuration.pace
        limits.waiting = configuration.waitingLimit
        limits.waitingTime = configuration.waitingTime
        limits.reconnect = configuration.reconnect
        limits.pause = configuration.pause
        let breaker = DeadTokenBreaker.Limits(
            window: configuration.breakerWindow,
            minimum: configuration.breakerMinimum,
            share: configuration.breakerShare
        )
        state = Mutex(State(machine: PoolMachine(limits: limits), breaker: DeadTokenBreaker(limits: breaker)))
    }

    // MARK: For the transport

    /// Takes a push whose payload already is FCM's.
    func submit(_ order: PendingPush.Order) {
        run { state in state.machine.submit(PendingPush(order: order), now: order.submittedAt) }
    }

    var connections: Int { state.withLock { $0.machine.connections } }
    var inFlight: Int { state.withLock { $0.machine.inFlight } }
    var waiting: Int { state.withLock { $0.machine.waiting.count } }
    var problem: String? {
        state.withLock { state in
            state.machine.pauseReason(now: now()) ?? (state.breaker.isOpen ? "too many bad registration tokens" : nil)
        }
    }

    func drain() async {
        run { state in state.machine.close() }
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                if state.machine.inFlight == 0 { return true }
                state.drainWaiters.append(continuation)
                return false
            }
            if isDone { continuation.resume() }
        }
    }

    func dropConnections() {
        let retired = state.withLock { Array($0.retired.values) }
        for connection in retired { Task { await connection.close(drain: .zero) } }
        run { state in state.machine.close() + state.machine.dropConnections(now: now()) }
    }

    // MARK: Carrying out

    func run(_ decide: (inout State) -> [PoolMachine.Action]) {
        let effects = state.withLock { state -> [Effect] in
            let actions = decide(&state)
            var effects = actions.map { resolve($0, &state) }
            if state.machine.inFlight == 0, !state.drainWaiters.isEmpty {
                effects.append(.resumeDrain(state.drainWaiters))
                state.drainWaiters = []
            }
            return effects
        }
        for effect in effects { carryOut(effect) }
    }

    /// Finds the connection of an action while the lock is held.
    private func resolve(_ action: PoolMachine.Action, _ state: inout State) -> Effect {
        switch action {
        case .dispatch(let push, let lane, let generation):
            guard let live = state.live[lane], live.generation == generation, let token = tokens.current else {
                return .action(action, nil)
            }
            return .send(push, live.connection, token, lane: lane, generation: generation)
        case .retire(let lane, let generation, _):
            guard let live = state.live[lane], live.generation == generation else { return .action(action, nil) }
            state.live[lane] = nil
            state.retired[ObjectIdentifier(live.connection)] = live.connection
            return .action(action, live.connection)
        case .connect, .finish, .wake, .pace:
            return .action(action, nil)
        }
    }

    private func carryOut(_ effect: Effect) {
        switch effect {
        case .send(let push, let connection, let token, let lane, let generation):
            send(push, on: connection, token, lane: lane, generation: generation)
        case .resumeDrain(let waiters):
            for waiter in waiters { waiter.resume() }
        case .action(.finish(let push, let outcome), _):
            finish(push, outcome)
        case .action(.connect(let lane, let generation, let delay), _):
            // While FCM cannot be reached the hold is the wait between attempts.
            let hold = state.withLock { $0.failures > 0 ? $0.machine.pauseRest(now: now()) ?? .zero : delay }
            later(hold) { await $0.connect(lane: lane, generation: generation) }
        case .action(.retire(_, _, let drain), let connection):
            guard let connection else { return }
            let patience = drain ? configuration.requestTimeout : .zero
            Task { [weak self] in
                await connection.close(drain: patience)
                self?.forget(connection)
            }
        case .action(.wake(let delay), _):
            later(delay) { pool in pool.run { state in state.machine.expireWaiting(now: pool.now()) } }
        case .action(.pace(let delay), _):
            later(delay) { pool in pool.run { state in state.machine.paced(now: pool.now()) } }
        case .action(.dispatch(let push, let lane, let generation), _):
            // The connection vanished between decision and lookup, or the access token has ended: nothing was sent. The next
            // connection begins with a good token.
            run { state in
                let moment = now()
                let weight = push.order.weight
                return state.machine.ended(lane: lane, generation: generation, bytes: weight, .recycle, now: moment)
                    + state.machine.resend(push, reason: "NoAccessToken", now: moment)
            }
        }
    }

    private func finish(_ push: PendingPush, _ outcome: PushOutcome) {
        var outcome = outcome
        // Without a wish of ours the engine's waits grow from one try to the next.
        if case .notSent("QueueFull", _) = outcome { outcome = .notSent(reason: "QueueFull", after: nil) }
        metrics.count(outcome, took: now() - push.order.submittedAt)
        push.order.completion(outcome)
    }

    private func forget(_ connection: HTTP2ClientConnection) {
        state.withLock { _ = $0.retired.removeValue(forKey: ObjectIdentifier(connection)) }
    }

    /// Does something after a while, unless the pool is gone by then.
    func later(_ delay: Duration, _ body: @escaping @Sendable (FCMPool) async -> Void) {
        Task { [weak self] in
            // Never cancelled, so it always sleeps to the end.
            if delay > .zero { try? await Task.sleep(for: delay) }
            if let self { await body(self) }
        }
    }
}
