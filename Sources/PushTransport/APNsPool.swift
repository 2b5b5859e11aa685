import HTTP2
import Kernel
import Notifications
import Observability
import Signing
import Synchronization

/// The connections to one of Apple's environments. It carries out what `PoolMachine` decides.
///
/// Events come from many threads: senders, connection threads, timers. Each takes the lock for a moment to ask the machine,
/// and acts after letting go, so that no completion ever runs under the lock.
final class APNsPool: Sendable {
    /// A connection with the provider token that it uses. A token is kept for 20 minutes on a connection, because Apple
    /// judges changes per connection.
    private struct Live {
        let connection: HTTP2ClientConnection
        let generation: Int
        var token: ProviderToken?
        var tokenSince: ContinuousClock.Instant?
    }

    private struct State {
        var machine: PoolMachine
        var live: [Int: Live] = [:]
        var breaker: DeadTokenBreaker
        var pausedTopics: [String: ContinuousClock.Instant] = [:]
        var drainWaiters: [CheckedContinuation<Void, Never>] = []
    }

    /// What is done after the lock is let go.
    private enum Effect {
        case send(PendingPush, HTTP2ClientConnection, ProviderToken, lane: Int, generation: Int)
        case action(PoolMachine.Action, HTTP2ClientConnection?)
        case resumeDrain([CheckedContinuation<Void, Never>])
    }

    private static let topicLimit = 64

    let environment: PushEnvironment
    private let configuration: APNsConfiguration
    private let tokens: ProviderTokenSource
    private let metrics: TransportMetrics
    private let telemetry: Telemetry
    private let logger: Logger
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state: Mutex<State>
    private let host: String

    init(
        environment: PushEnvironment,
        configuration: APNsConfiguration,
        tokens: ProviderTokenSource,
        metrics: TransportMetrics,
        telemetry: Telemetry,
        now: @escaping @Sendable () -> ContinuousClock.Instant
    ) {
        self.environment = environment
        self.configuration = configuration
        self.tokens = tokens
        self.metrics = metrics
        self.telemetry = telemetry
        self.now = now
        host = configuration.host(for: environment)
        logger = telemetry.logger.with(["environment": .string(environment.rawValue)])
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

    func submit(_ order: PendingPush.Order) {
        let push = PendingPush(order: order)
        run { state in
            let moment = order.submittedAt
            if let until = state.pausedTopics[order.topic] {
                if moment < until {
                    return [.finish(push, .notSent(reason: "TopicDisallowed", after: until - moment))]
                }
                state.pausedTopics[order.topic] = nil
            }
            return state.machine.submit(push, now: moment)
        }
    }

    var connections: Int { state.withLock { $0.machine.connections } }
    var inFlight: Int { state.withLock { $0.machine.inFlight } }
    var waiting: Int { state.withLock { $0.machine.waiting.count } }
    var problem: String? {
        state.withLock { state in
            state.machine.pauseReason(now: now()) ?? (state.breaker.isOpen ? "too many bad device tokens" : nil)
        }
    }

    /// Takes no more pushes, gives back the waiting ones and waits until every stream has ended.
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

    /// Breaks off every connection; streams without an answer end as `unknown`.
    func dropConnections() {
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

    /// Finds connection and token of an action while the lock is held.
    private func resolve(_ action: PoolMachine.Action, _ state: inout State) -> Effect {
        switch action {
        case .dispatch(let push, let lane, let generation):
            guard var live = state.live[lane], live.generation == generation else { return .action(action, nil) }
            guard let token = token(for: &live) else { return .action(action, nil) }
            state.live[lane] = live
            return .send(push, live.connection, token, lane: lane, generation: generation)
        case .retire(let lane, let generation, _):
            guard let live = state.live[lane], live.generation == generation else { return .action(action, nil) }
            state.live[lane] = nil
            return .action(action, live.connection)
        case .connect, .finish, .wake:
            return .action(action, nil)
        }
    }

    private func token(for live: inout Live) -> ProviderToken? {
        let moment = now()
        do {
            let current = try live.token == nil ? tokens.currentForNewConnection() : tokens.current()
            if let pinned = live.token, pinned != current, let since = live.tokenSince,
                moment - since < ProviderTokenSource.minimumAge
            {
                return pinned
            }
            if live.token != current {
                live.token = current
                live.tokenSince = moment
            }
            return current
        } catch {
            logger.error("no provider token could be signed", ["error": .error(error)])
            return nil
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
            Task { await connect(lane: lane, generation: generation, after: delay) }
        case .action(.retire(_, _, let drain), let connection):
            guard let connection else { return }
            let patience = drain ? configuration.requestTimeout : .zero
            Task { await connection.close(drain: patience) }
        case .action(.wake(let delay), _):
            Task {
                await pause(delay)
                run { state in state.machine.expireWaiting(now: now()) }
            }
        case .action(.dispatch(let push, let lane, let generation), _):
            // The connection vanished between decision and lookup, or no token could be signed: nothing was sent.
            run { state in
                state.machine.ended(lane: lane, generation: generation, .lost, now: now())
                    + state.machine.resend(push, reason: "SigningFailed", now: now())
            }
        }
    }

    private func finish(_ push: PendingPush, _ outcome: PushOutcome) {
        metrics.count(outcome, took: now() - push.order.submittedAt)
        push.order.completion(outcome)
    }

    /// Waits without a deadline of its own; the tasks that call it are never cancelled.
    private func pause(_ delay: Duration) async {
        guard delay > .zero else { return }
        do {
            try await Task.sleep(for: delay)
        } catch {
            // Cancelled: going on early is right.
        }
    }

    // MARK: Streams

    private func send(
        _ push: PendingPush,
        on connection: HTTP2ClientConnection,
        _ token: ProviderToken,
        lane: Int,
        generation: Int
    ) {
        let startedAt = now()
        let request = APNsRequest.make(push.order, authority: host, authorization: token.header)
        connection.send(request, timeout: configuration.requestTimeout) { [self] result in
            switch result {
            case .success(let response):
                answered(push, APNsAnswer(response), token, lane: lane, generation: generation)
            case .failure(let error):
                let decision = AnswerPolicy.decide(error, startedAt: startedAt)
                settle(push, decision, lane: lane, generation: generation)
            }
        }
    }

    private func answered(
        _ push: PendingPush,
        _ answer: APNsAnswer,
        _ token: ProviderToken,
        lane: Int,
        generation: Int
    ) {
        let (change, isOpen) = state.withLock { state in
            (state.breaker.note(isBad: answer.action == .deadOrMisconfigured), state.breaker.isOpen)
        }
        report(change)
        let decision = AnswerPolicy.decide(answer, moves: push.moves, breakerIsOpen: isOpen) {
            do {
                return try tokens.renew(refused: token)
            } catch {
                logger.error("no provider token could be signed", ["error": .error(error)])
                return .tooYoung
            }
        }
        if answer.status != 200 { log(answer, push, decision) }
        settle(push, decision, lane: lane, generation: generation)
    }

    private func settle(_ push: PendingPush, _ decision: AnswerDecision, lane: Int, generation: Int) {
        if case .finish = decision.fate {} else { metrics.resends.increment() }
        // Before anyone hears of it, so that a caller who asks finds the reason.
        if let reason = decision.stop { telemetry.health.set(healthName, problem: reason) }
        let wasPaused = state.withLock { $0.machine.pauseRest(now: now()) } != nil
        defer { if decision.stop != nil, !wasPaused { reportWhenPauseEnds() } }
        run { state in
            let moment = now()
            var actions: [PoolMachine.Action] = []
            if let reason = decision.stop { actions += state.machine.stop(reason: reason, now: moment) }
            if decision.stopTopic != nil {
                if state.pausedTopics.count >= Self.topicLimit { state.pausedTopics = [:] }
                state.pausedTopics[push.order.topic] = moment + AnswerPolicy.topicPause
            }
            if decision.news == .refused, let live = state.live[lane], live.generation == generation {
                // The peer has lowered its limit; the news of that comes only after this completion.
                let limit = live.connection.state.peerMaxConcurrentStreams
                actions += state.machine.limitChanged(lane: lane, generation: generation, peerLimit: limit, now: moment)
            }
            actions += state.machine.ended(lane: lane, generation: generation, decision.news, now: moment)
            switch decision.fate {
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
    }

    // MARK: Connections

    private func connect(lane: Int, generation: Int, after delay: Duration) async {
        await pause(delay)
        var options = HTTP2ClientOptions()
        options.connectTimeout = configuration.connectTimeout
        options.stallAfter = .seconds(10)
        // Finds out about a connection that a firewall forgot before a push does.
        options.idlePingAfter = .seconds(120)
        let connection: HTTP2ClientConnection
        do {
            connection = try await HTTP2ClientConnection.connect(
                host: host,
                port: configuration.port,
                tls: TLSClientConfiguration(
                    trust: configuration.trustedPEM.map { .certificates(pem: $0) } ?? .systemStore
                ),
                options: options,
                telemetry: telemetry
            )
        } catch {
            logger.warning("connecting to APNs failed", ["error": .error(error), "host": .string(host)])
            run { state in state.machine.connectFailed(lane: lane, generation: generation, now: now()) }
            reportHealth()
            return
        }
        logger.info("connected to APNs", ["host": .string(host)])
        run { state in
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

    private func stateChanged(_ news: HTTP2ClientConnection.State, lane: Int, generation: Int) {
        if news.isClosing {
            if let reason = news.goAwayReason {
                logger.warning("APNs ends a connection", ["reason": .string(String(reason.prefix(64)))])
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
            logger.error("too many device tokens are called bad: check APNS_ENVIRONMENT and the topic; none is removed")
        case .closed:
            logger.info("device tokens are believed again")
        }
        reportHealth()
    }

    private func log(_ answer: APNsAnswer, _ push: PendingPush, _ decision: AnswerDecision) {
        let fields: KeyValuePairs<String, JSONValue> = [
            "status": .integer(answer.status),
            "reason": .string(answer.reason),
            "token": .string(push.order.deviceToken.shortened),
            "messageId": .string(push.order.request.messageID.description),
            "topic": .string(push.order.topic),
        ]
        if decision.stop != nil || decision.stopTopic != nil {
            logger.error("APNs refuses our account or configuration", fields)
        } else {
            logger.warning("APNs refused a push", fields)
        }
    }

    private var healthName: String { "apns-\(environment.rawValue)" }

    /// Without a push that connects anew nobody else would take the condition back.
    private func reportWhenPauseEnds() {
        guard let rest = state.withLock({ $0.machine.pauseRest(now: now()) }) else { return }
        Task { [weak self] in
            await self?.pause(rest + .milliseconds(1))
            self?.reportHealth()
        }
    }

    private func reportHealth() {
        telemetry.health.set(healthName, problem: problem)
    }
}
