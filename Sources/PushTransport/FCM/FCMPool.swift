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
    private struct Live {
        let connection: HTTP2ClientConnection
        let generation: Int
    }

    private struct State {
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
    private let configuration: FCMConfiguration
    private let tokens: AccessTokenSource
    private let metrics: FCMMetrics
    private let telemetry: Telemetry
    private let logger: Logger
    private let policy: FCMPolicy
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state: Mutex<State>
    private let path: String

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

    private func run(_ decide: (inout State) -> [PoolMachine.Action]) {
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
    private func later(_ delay: Duration, _ body: @escaping @Sendable (FCMPool) async -> Void) {
        Task { [weak self] in
            // Never cancelled, so it always sleeps to the end.
            if delay > .zero { try? await Task.sleep(for: delay) }
            if let self { await body(self) }
        }
    }

    // MARK: Streams

    private func send(
        _ push: PendingPush,
        on connection: HTTP2ClientConnection,
        _ token: AccessToken,
        lane: Int,
        generation: Int
    ) {
        let startedAt = now()
        let request = HTTP2Request(
            method: "POST",
            path: path,
            authority: configuration.host,
            headers: [
                HTTP2Header("authorization", token.header), HTTP2Header("content-type", "application/json"),
            ],
            body: push.order.request.payload
        )
        connection.send(request, timeout: configuration.requestTimeout) { [self] result in
            switch result {
            case .success(let response):
                answered(push, FCMAnswer(response), token, lane: lane, generation: generation)
            case .failure(let error):
                settle(push, policy.decide(error, startedAt: startedAt), lane: lane, generation: generation)
            }
        }
    }

    private func answered(_ push: PendingPush, _ answer: FCMAnswer, _ token: AccessToken, lane: Int, generation: Int) {
        let (change, isOpen, quotaHits) = state.withLock { state in
            let change = state.breaker.note(isBad: answer.action == .deadOrMisconfigured)
            let hits = state.quotaHits
            if answer.action == .accept { state.quotaHits = 0 }
            return (change, state.breaker.isOpen, hits)
        }
        report(change)
        let decision = policy.decide(answer, moves: push.moves, breakerIsOpen: isOpen, quotaHits: quotaHits) {
            tokens.refuse(token)
        }
        if answer.status != 200 { log(answer, push, decision) }
        settle(push, decision, lane: lane, generation: generation)
    }

    private func settle(_ push: PendingPush, _ decision: FCMDecision, lane: Int, generation: Int) {
        let answer = decision.answer
        if case .finish = answer.fate {} else { metrics.resends.increment() }
        // Before anyone hears of it, so that a caller who asks finds the reason.
        if let reason = answer.stop ?? decision.hold.map({ _ in "QUOTA_EXCEEDED" }) {
            telemetry.health.set(name, problem: reason)
        }
        let wasPaused = state.withLock { $0.machine.pauseRest(now: now()) } != nil
        if decision.hold != nil, !wasPaused { metrics.quotaHolds.increment() }
        run { state in
            let moment = now()
            var actions: [PoolMachine.Action] = []
            if let reason = answer.stop { actions += state.machine.stop(reason: reason, now: moment) }
            if let hold = decision.hold {
                // Answers to pushes that were under way already say nothing new.
                if !wasPaused { state.quotaHits += 1 }
                actions += state.machine.hold(reason: "QUOTA_EXCEEDED", for: hold, now: moment)
            }
            if answer.news == .refused, let live = state.live[lane], live.generation == generation {
                // The peer has lowered its limit; the news of that comes only after this completion.
                let limit = live.connection.state.peerMaxConcurrentStreams
                actions += state.machine.limitChanged(lane: lane, generation: generation, peerLimit: limit, now: moment)
            }
            actions += state.machine.ended(
                lane: lane,
                generation: generation,
                bytes: push.order.weight,
                answer.news,
                now: moment
            )
            switch answer.fate {
            case .finish(let outcome):
                actions.append(.finish(push, outcome))
            case .resend(let reason):
                actions += state.machine.resend(push, reason: reason, now: moment)
            case .move(let reason):
                var moved = push
                moved.moves += 1
                actions += state.machine.resend(moved, reason: reason, now: moment)
            }
            return actions
        }
        if answer.stop != nil || decision.hold != nil, !wasPaused { reportWhenPauseEnds() }
    }

    // MARK: Connections

    private func connect(lane: Int, generation: Int) async {
        if state.withLock({ $0.machine.isClosing }) {
            return run { state in state.machine.connectFailed(lane: lane, generation: generation, now: now()) }
        }
        do {
            _ = try await tokens.token()
        } catch {
            // What no repetition mends stops the pool as a refused push would; the rest is an outage.
            let isFinal = error.code == .refused || error.code == .malformed
            failed("NoAccessToken", isFinal: isFinal, lane: lane, generation: generation)
            return
        }
        var options = HTTP2ClientOptions()
        options.connectTimeout = configuration.connectTimeout
        options.stallAfter = .seconds(10)
        // Google sends connections away that ask for a sign of life too often.
        options.idlePingAfter = .seconds(900)
        let connection: HTTP2ClientConnection
        do {
            connection = try await HTTP2ClientConnection.connect(
                host: configuration.host,
                port: configuration.port,
                tls: TLSClientConfiguration(
                    trust: configuration.trustedPEM.map { .certificates(pem: $0) } ?? .systemStore
                ),
                options: options,
                telemetry: telemetry
            )
        } catch {
            logger.warning(
                "connecting to FCM failed",
                ["error": .error(error), "host": .string(configuration.host)]
            )
            failed(error.code.rawValue, isFinal: false, lane: lane, generation: generation)
            return
        }
        logger.info("connected to FCM", ["host": .string(configuration.host)])
        run { state in
            state.failures = 0
            state.live[lane] = Live(connection: connection, generation: generation)
            return state.machine.connected(
                lane: lane,
                generation: generation,
                peerLimit: connection.state.peerMaxConcurrentStreams,
                now: now()
            )
        }
        connection.onStateChange { [self] news in stateChanged(news, lane: lane, generation: generation) }
        reportHealth()
    }

    /// No connection was made. What waits goes back when there is no other, and what comes meanwhile too.
    private func failed(_ reason: String, isFinal: Bool, lane: Int, generation: Int) {
        run { state in
            let moment = now()
            var actions: [PoolMachine.Action] = []
            if isFinal {
                actions += state.machine.stop(reason: reason, now: moment)
            } else if state.machine.connections == 0, state.machine.pauseReason(now: moment) == nil {
                let wait = configuration.reconnect.delay(attempt: state.failures, using: &state.generator)
                state.failures += 1
                actions += state.machine.hold(reason: reason, for: wait, now: moment)
            }
            return actions + state.machine.connectFailed(lane: lane, generation: generation, now: moment)
        }
        reportHealth()
        reportWhenPauseEnds()
    }

    private func stateChanged(_ news: HTTP2ClientConnection.State, lane: Int, generation: Int) {
        if news.isClosing {
            if let reason = news.goAwayReason {
                logger.info("FCM ends a connection", ["reason": .string(String(reason.prefix(64)))])
            }
            run { state in state.machine.closing(lane: lane, generation: generation, now: now()) }
        } else {
            run { state in
                state.machine.limitChanged(
                    lane: lane,
                    generation: generation,
                    peerLimit: news.peerMaxConcurrentStreams,
                    now: now()
                )
            }
        }
    }

    // MARK: Reporting

    private func report(_ change: DeadTokenBreaker.Change) {
        switch change {
        case .none: return
        case .opened:
            metrics.breakerOpened.increment()
            logger.error("too many registration tokens are called bad: check FCM_PROJECT_ID; none is removed")
        case .closed:
            logger.info("registration tokens are believed again")
        }
        reportHealth()
    }

    private func log(_ answer: FCMAnswer, _ push: PendingPush, _ decision: FCMDecision) {
        let fields: KeyValuePairs<String, JSONValue> = [
            "status": .integer(answer.status),
            "reason": .string(answer.reason),
            "token": .string(push.order.deviceToken.shortened),
            "messageId": .string(push.order.request.messageID.description),
        ]
        if decision.answer.stop != nil || decision.isAlarming {
            logger.error("FCM refuses our account or configuration", fields)
        } else {
            logger.warning("FCM refused a push", fields)
        }
    }

    /// Without a push that connects anew nobody else would take the condition back.
    private func reportWhenPauseEnds() {
        guard let rest = state.withLock({ $0.machine.pauseRest(now: now()) }) else { return }
        reportHealth()
        later(rest + .milliseconds(1)) { $0.reportHealth() }
    }

    private func reportHealth() {
        telemetry.health.set(name, problem: problem)
    }
}
