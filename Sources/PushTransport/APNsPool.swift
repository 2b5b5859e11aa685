import HTTP2
import Kernel
import Notifications
import Observability
import Synchronization

/// The connections to one of Apple's environments with one credential. It carries out what `PoolMachine` decides.
///
/// Events come from many threads: senders, connection threads, timers. Each takes the lock for a moment to ask the machine,
/// and acts after letting go, so that no completion ever runs under the lock.
final class APNsPool: Sendable {
    /// A connection with the provider token that it uses. A token is kept for 20 minutes on a connection, because Apple
    /// judges changes per connection. Touched under the pool's lock alone; a class, so that looking at it copies nothing.
    final class Live: @unchecked Sendable {
        let connection: HTTP2ClientConnection
        let generation: Int
        var token: ProviderToken?
        /// Header groups with that token.
        var shared: APNsRequest.Shared
        var tokenSince: ContinuousClock.Instant?
        /// Until then the token need not be asked for again.
        var tokenGoodUntil: ContinuousClock.Instant?

        init(connection: HTTP2ClientConnection, generation: Int, shared: APNsRequest.Shared) {
            self.connection = connection
            self.generation = generation
            self.shared = shared
        }
    }

    /// Where and when a push left.
    struct Departure {
        let lane: Int
        /// The generation of the provider token it was sent with.
        let token: Int
        let at: ContinuousClock.Instant
    }

    /// A topic that Apple does not let us send to.
    struct TopicPause {
        let reason: String
        let until: ContinuousClock.Instant
    }

    struct State {
        var machine: PoolMachine
        /// By lane.
        var live: [Live?]
        /// Connections that were given up, until their last stream has ended.
        var retired: [ObjectIdentifier: HTTP2ClientConnection] = [:]
        var breakers: DeadTokenBreakers
        var pausedTopics: [String: TopicPause] = [:]
        var drainWaiters: [CheckedContinuation<Void, Never>] = []
        /// Why the newest attempt to connect failed.
        var connectProblem: String?
        /// By lane, the newest generation whose GOAWAY was heard.
        private var goneAway: [Int: Int] = [:]

        init(machine: PoolMachine, breakers: DeadTokenBreakers) {
            self.machine = machine
            self.breakers = breakers
            live = Array(repeating: nil, count: machine.lanes.count)
        }

        /// Notes a GOAWAY.
        mutating func isFirstGoAway(lane: Int, generation: Int) -> Bool {
            guard goneAway[lane, default: 0] < generation else { return false }
            goneAway[lane] = generation
            return true
        }
    }

    /// What is done after the lock is let go.
    private enum Effect {
        case send(PendingPush, Live, HTTP2HeaderGroup, Departure)
        /// It cannot be expressed in HTTP/2.
        case refuse(PendingPush, HTTP2Error, lane: Int, generation: Int)
        case action(PoolMachine.Action, HTTP2ClientConnection?)
        case resumeDrain([CheckedContinuation<Void, Never>])
    }

    private static let topicLimit = 64
    /// How long a connection goes on with its token before it asks for the current one.
    private static let tokenCheckInterval = Duration.seconds(1)

    let environment: PushEnvironment
    let configuration: APNsConfiguration
    /// `nil` where a certificate says who we are.
    let tokens: ProviderTokenSource?
    /// `nil` where provider tokens do.
    let certificate: CertificateWatch?
    let metrics: TransportMetrics
    let telemetry: Telemetry
    let logger: Logger
    let now: @Sendable () -> ContinuousClock.Instant
    let state: Mutex<State>
    let host: String

    init(
        environment: PushEnvironment,
        configuration: APNsConfiguration,
        tokens: ProviderTokenSource?,
        certificate: CertificateWatch?,
        metrics: TransportMetrics,
        telemetry: Telemetry,
        now: @escaping @Sendable () -> ContinuousClock.Instant
    ) {
        self.environment = environment
        self.configuration = configuration
        self.tokens = tokens
        self.certificate = certificate
        self.metrics = metrics
        self.telemetry = telemetry
        self.now = now
        host = configuration.host(for: environment)
        logger = telemetry.logger.with(["environment": .string(environment.rawValue)])
        let machine = PoolMachine(limits: PoolMachine.Limits(configuration))
        let breaker = DeadTokenBreaker.Limits(
            window: configuration.breakerWindow,
            minimum: configuration.breakerMinimum,
            share: configuration.breakerShare
        )
        state = Mutex(
            State(machine: machine, breakers: DeadTokenBreakers(limits: breaker))
        )
    }

    // MARK: For the transport

    func submit(_ order: PendingPush.Order) {
        let push = PendingPush(order: order)
        let moment = order.submittedAt
        let atOnce = state.withLock { state -> Effect? in
            guard state.pausedTopics.isEmpty, let place = state.machine.dispatchAtOnce(push, now: moment) else {
                return nil
            }
            let live = state.live[place.lane]
            return resolve(push, live, lane: place.lane, generation: place.generation, now: moment)
        }
        if let atOnce { return carryOut(atOnce) }
        run { state in
            if let outcome = Self.held(order.topic, &state, now: moment) { return [.finish(push, outcome)] }
            return state.machine.submit(push, now: moment)
        }
    }

    var connections: Int { state.withLock { $0.machine.connections } }
    var inFlight: Int { state.withLock { $0.machine.inFlight } }
    var waiting: Int { state.withLock { $0.machine.waiting.count } }

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

    /// Breaks off every connection, those given up included; streams without an answer end as `unknown`.
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

    /// Finds connection and token of an action while the lock is held.
    private func resolve(_ action: PoolMachine.Action, _ state: inout State) -> Effect {
        switch action {
        case .dispatch(let push, let lane, let generation):
            return resolve(push, state.live[lane], lane: lane, generation: generation, now: now())
        case .retire(let lane, let generation, _):
            guard let live = state.live[lane], live.generation == generation else { return .action(action, nil) }
            state.live[lane] = nil
            state.retired[ObjectIdentifier(live.connection)] = live.connection
            return .action(action, live.connection)
        case .connect, .finish, .wake, .pace:
            return .action(action, nil)
        }
    }

    private func resolve(
        _ push: PendingPush,
        _ live: Live?,
        lane: Int,
        generation: Int,
        now moment: ContinuousClock.Instant
    ) -> Effect {
        guard let live, live.generation == generation, prepareToken(live, now: moment) else {
            return .action(.dispatch(push, lane: lane, generation: generation), nil)
        }
        do throws(HTTP2Error) {
            let group = try live.shared.group(for: push.order)
            let departure = Departure(lane: lane, token: live.token?.generation ?? 0, at: moment)
            return .send(push, live, group, departure)
        } catch {
            return .refuse(push, error, lane: lane, generation: generation)
        }
    }

    /// Sees to it that a connection has a token that is fit to send with.
    /// - Returns: `false` when none could be signed.
    private func prepareToken(_ live: Live, now moment: ContinuousClock.Instant) -> Bool {
        guard let tokens else { return true }
        if let good = live.tokenGoodUntil, moment < good { return true }
        do {
            let pinned = live.token
            let current = try pinned == nil ? tokens.currentForNewConnection() : tokens.current()
            live.tokenGoodUntil = moment + Self.tokenCheckInterval
            if let pinned, pinned != current, let since = live.tokenSince,
                moment - since < ProviderTokenSource.minimumAge
            {
                return true
            }
            if pinned != current {
                live.token = current
                live.shared = APNsRequest.Shared(authority: host, authorization: current.header)
                live.tokenSince = moment
            }
            return true
        } catch {
            logger.error("no provider token could be signed", ["error": .error(error)])
            return false
        }
    }

    private func carryOut(_ effect: Effect) {
        switch effect {
        case .send(let push, let live, let group, let departure):
            send(push, on: live, group, departure)
        case .refuse(let push, let error, let lane, let generation):
            settle(push, AnswerPolicy.decide(error, startedAt: now()), lane: lane, generation: generation)
        case .resumeDrain(let waiters):
            for waiter in waiters { waiter.resume() }
        case .action(.finish(let push, let outcome), _):
            finish(push, outcome, at: now())
        case .action(.connect(let lane, let generation, let delay), _):
            later(delay) { await $0.connect(lane: lane, generation: generation) }
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
            // The connection vanished between decision and lookup, or no token could be signed: nothing was sent.
            run { state in
                let moment = now()
                let weight = push.order.weight
                return state.machine.ended(lane: lane, generation: generation, bytes: weight, .lost, now: moment)
                    + state.machine.resend(push, reason: "SigningFailed", now: moment)
            }
        }
    }

    private func forget(_ connection: HTTP2ClientConnection) {
        state.withLock { _ = $0.retired.removeValue(forKey: ObjectIdentifier(connection)) }
    }

    func finish(_ push: PendingPush, _ outcome: PushOutcome, at moment: ContinuousClock.Instant) {
        metrics.count(outcome, took: moment - push.order.submittedAt)
        push.order.completion(outcome)
    }

    /// Runs `body` after a delay, unless the pool is gone by then.
    func later(_ delay: Duration, _ body: @escaping @Sendable (APNsPool) async -> Void) {
        Task { [weak self] in
            // Never cancelled, so it always sleeps to the end.
            if delay > .zero { try? await Task.sleep(for: delay) }
            if let self { await body(self) }
        }
    }

    /// Stops sending to a topic for a while. What waits for it goes back.
    func pause(topic: String, _ pause: TopicPause, _ state: inout State) -> [PoolMachine.Action] {
        if state.pausedTopics.count >= Self.topicLimit { state.pausedTopics = [:] }
        state.pausedTopics[topic] = pause
        return state.machine.giveBack(topic: topic, reason: pause.reason, after: AnswerPolicy.topicPause)
    }

    /// What becomes of a push to a topic that is stopped, `nil` for one that may leave.
    static func held(_ topic: String, _ state: inout State, now: ContinuousClock.Instant) -> PushOutcome? {
        guard let pause = state.pausedTopics[topic] else { return nil }
        guard now < pause.until else {
            state.pausedTopics[topic] = nil
            return nil
        }
        return .notSent(reason: pause.reason, after: pause.until - now)
    }
}

extension PoolMachine.Limits {
    init(_ configuration: APNsConfiguration) {
        lanes = configuration.connections
        streams = configuration.streams
        bytes = configuration.bytes
        waiting = configuration.waitingLimit
        waitingBytes = configuration.waitingBytes
        waitingTime = configuration.waitingTime
        lifetime = configuration.lifetime
        pace = configuration.pace
        reconnect = configuration.reconnect
        pause = configuration.pause
    }
}
