import Kernel

/// The decisions of a connection pool, without any I/O: events go in, actions come out.
///
/// A connection carries one request until an answer proved it, then as many as the peer's SETTINGS and our own limit allow.
/// What provably was not processed is sent again in place, a bounded number of times; everything else goes back to its sender.
struct PoolMachine: Sendable {
    private struct Pause {
        let reason: String
        let until: ContinuousClock.Instant
    }

    let limits: Limits
    private(set) var lanes: [Lane]
    private(set) var waiting = WaitingLine()
    /// Streams without an answer, those of retired connections included.
    private(set) var inFlight = 0
    private var pause: Pause?
    private var pauses = 0
    private var wakeIsSet = false
    private var paceIsSet = false
    private(set) var isClosing = false
    private var generator = SystemRandomNumberGenerator()

    init(limits: Limits) {
        self.limits = limits
        lanes = Array(repeating: Lane(), count: max(1, limits.lanes))
    }

    /// Connections that may carry pushes.
    var connections: Int { lanes.count { $0.phase == .canary || $0.phase == .open } }

    /// Whether connecting fails and nothing else carries pushes.
    var isUnreachable: Bool { connections == 0 && lanes.contains { $0.isUnreachable } }

    /// Why nothing is sent, while that is so.
    func pauseReason(now: ContinuousClock.Instant) -> String? {
        pause.flatMap { now < $0.until ? $0.reason : nil }
    }

    /// How long nothing will be sent, while that is so.
    func pauseRest(now: ContinuousClock.Instant) -> Duration? {
        pause.flatMap { now < $0.until ? now.duration(to: $0.until) : nil }
    }

    // MARK: Pushes

    /// Takes a push.
    mutating func submit(_ push: PendingPush, now: ContinuousClock.Instant) -> [Action] {
        if isClosing { return [.finish(push, .notSent(reason: "Closing", after: nil))] }
        if let pause {
            if now < pause.until {
                return [.finish(push, .notSent(reason: pause.reason, after: pause.until - now))]
            }
            self.pause = nil
        }
        if waiting.isEmpty, let lane = roomiest(now: now) {
            return [dispatch(push, lane, now: now)]
        }
        let isFull = waiting.count >= limits.waiting || waiting.bytes + push.order.weight > limits.waitingBytes
        guard !isFull || waiting.isEmpty && limits.waiting > 0 else {
            return [.finish(push, .notSent(reason: "QueueFull", after: .seconds(1)))]
        }
        waiting.append(push)
        var actions: [Action] = []
        advance(&actions, now: now)
        return actions
    }

    /// The short way of `submit` for a push that can leave at once.
    /// - Returns: where it goes, or `nil` when `submit` must decide.
    mutating func dispatchAtOnce(
        _ push: PendingPush,
        now: ContinuousClock.Instant
    ) -> (lane: Int, generation: Int)? {
        guard waiting.isEmpty, pause == nil, !isClosing, let lane = roomiest(now: now) else { return nil }
        note(push, on: lane, now: now)
        return (lane, lanes[lane].generation)
    }

    /// Notes the end of a stream, and what it says of its connection.
    /// - Parameter bytes: the weight of the push.
    mutating func ended(
        lane: Int,
        generation: Int,
        bytes: Int = 0,
        _ news: StreamNews,
        now: ContinuousClock.Instant
    ) -> [Action] {
        var actions: [Action] = []
        inFlight -= 1
        if lanes[lane].generation == generation, lanes[lane].phase == .canary || lanes[lane].phase == .open {
            lanes[lane].inFlight -= 1
            lanes[lane].bytes -= bytes
            apply(news, lane, &actions, now: now)
            if let retireAt = lanes[lane].retireAt, now >= retireAt, lanes[lane].phase != .closed {
                retire(lane, drain: true, &actions, now: now)
            }
        }
        advance(&actions, now: now)
        return actions
    }

    /// Sends a push again that provably was not processed, or gives up after `limits.resends` times.
    mutating func resend(_ push: PendingPush, reason: String, now: ContinuousClock.Instant) -> [Action] {
        var push = push
        push.resends += 1
        if isClosing || push.resends > limits.resends {
            return [.finish(push, .notSent(reason: reason, after: .seconds(1)))]
        }
        if let pause, now < pause.until {
            return [.finish(push, .notSent(reason: pause.reason, after: pause.until - now))]
        }
        waiting.putBack(push)
        var actions: [Action] = []
        advance(&actions, now: now)
        return actions
    }

    /// Ends pushes that have waited too long.
    mutating func expireWaiting(now: ContinuousClock.Instant) -> [Action] {
        wakeIsSet = false
        var actions: [Action] = []
        while let push = waiting.first, now - push.order.submittedAt >= limits.waitingTime {
            _ = waiting.takeFirst()
            actions.append(.finish(push, .notSent(reason: "NoConnection", after: .seconds(5))))
        }
        advance(&actions, now: now)
        return actions
    }

    /// Goes on with what pacing held back.
    mutating func paced(now: ContinuousClock.Instant) -> [Action] {
        paceIsSet = false
        var actions: [Action] = []
        advance(&actions, now: now)
        return actions
    }

    // MARK: Connections

    /// A connection is ready and the peer's SETTINGS are known.
    mutating func connected(lane: Int, generation: Int, peerLimit: Int, now: ContinuousClock.Instant) -> [Action] {
        guard lanes[lane].generation == generation, lanes[lane].phase == .connecting, !isClosing else {
            return [.retire(lane: lane, generation: generation, drain: false)]
        }
        lanes[lane].phase = .canary
        lanes[lane].isUnreachable = false
        lanes[lane].inFlight = 0
        lanes[lane].bytes = 0
        lanes[lane].nextSendAt = nil
        lanes[lane].retireAt = limits.lifetime.map { lifetime in
            let milliseconds = lifetime.milliseconds
            return now + .milliseconds(Int64.random(in: milliseconds * 3 / 4...milliseconds * 5 / 4, using: &generator))
        }
        lanes[lane].peerLimit = peerLimit
        lanes[lane].allowance = limits.streams
        lanes[lane].wasProven = false
        lanes[lane].connectedAt = now
        lanes[lane].lastAnswerAt = nil
        var actions: [Action] = []
        advance(&actions, now: now)
        return actions
    }

    mutating func connectFailed(lane: Int, generation: Int, now: ContinuousClock.Instant) -> [Action] {
        guard lanes[lane].generation == generation, lanes[lane].phase == .connecting else { return [] }
        lanes[lane].phase = .closed
        lanes[lane].isUnreachable = true
        lanes[lane].failures += 1
        var actions: [Action] = []
        advance(&actions, now: now)
        return actions
    }

    /// The peer changed its stream limit.
    mutating func limitChanged(lane: Int, generation: Int, peerLimit: Int, now: ContinuousClock.Instant) -> [Action] {
        guard lanes[lane].generation == generation else { return [] }
        lanes[lane].peerLimit = peerLimit
        var actions: [Action] = []
        advance(&actions, now: now)
        return actions
    }

    /// The connection takes no more streams: GOAWAY, or it is gone.
    mutating func closing(lane: Int, generation: Int, now: ContinuousClock.Instant) -> [Action] {
        guard lanes[lane].generation == generation, lanes[lane].phase == .canary || lanes[lane].phase == .open else {
            return []
        }
        var actions: [Action] = []
        retire(lane, drain: true, &actions, now: now)
        advance(&actions, now: now)
        return actions
    }

    // MARK: Stopping

    /// Stops sending for a while, because of an answer that no repetition mends. What waits goes back; connections are
    /// replaced, since the provider judges them as a whole.
    mutating func stop(reason: String, now: ContinuousClock.Instant) -> [Action] {
        if pause != nil, pauseReason(now: now) != nil { return [] }
        let length = limits.pause.delay(attempt: pauses, using: &generator)
        pauses += 1
        pause = Pause(reason: reason, until: now + length)
        var actions = waiting.takeAll().map { Action.finish($0, .notSent(reason: reason, after: length)) }
        for lane in lanes.indices where lanes[lane].phase == .canary || lanes[lane].phase == .open {
            retire(lane, drain: true, &actions, now: now)
        }
        return actions
    }

    /// Sends nothing for a while, because the provider asks for it or cannot be reached. What waits goes back; connections
    /// stay. A longer pause that is in force stays too.
    mutating func hold(reason: String, for length: Duration, now: ContinuousClock.Instant) -> [Action] {
        if let pause, pause.until >= now + length { return [] }
        pause = Pause(reason: reason, until: now + length)
        return waiting.takeAll().map { .finish($0, .notSent(reason: reason, after: length)) }
    }

    /// Gives back what waits for one topic.
    mutating func giveBack(topic: String, reason: String, after: Duration) -> [Action] {
        waiting.takeAll { $0.order.topic == topic }.map { .finish($0, .notSent(reason: reason, after: after)) }
    }

    /// Takes no more pushes and gives back those that wait.
    mutating func close() -> [Action] {
        isClosing = true
        return waiting.takeAll().map { .finish($0, .notSent(reason: "Closing", after: nil)) }
    }

    /// Gives up every connection at once.
    mutating func dropConnections(now: ContinuousClock.Instant) -> [Action] {
        var actions: [Action] = []
        for lane in lanes.indices where lanes[lane].phase == .canary || lanes[lane].phase == .open {
            retire(lane, drain: false, &actions, now: now)
        }
        return actions
    }

    // MARK: Inside

    private mutating func apply(
        _ news: StreamNews,
        _ lane: Int,
        _ actions: inout [Action],
        now: ContinuousClock.Instant
    ) {
        switch news {
        case .proven:
            lanes[lane].phase = .open
            lanes[lane].wasProven = true
            lanes[lane].lastAnswerAt = now
            lanes[lane].allowance = min(lanes[lane].allowance + 1, limits.streams)
            pauses = 0
        case .inconclusive:
            lanes[lane].lastAnswerAt = now
        case .refused:
            lanes[lane].allowance = max(1, min(lanes[lane].allowance, lanes[lane].inFlight))
        case .timedOut(let since):
            // Others were answered meanwhile: one slow request. None was: the connection is dead even if TCP says otherwise.
            if lanes[lane].lastAnswerAt.map({ $0 < since }) ?? true {
                retire(lane, drain: false, &actions, now: now)
            }
        case .lost, .recycle:
            retire(lane, drain: true, &actions, now: now)
        }
    }

    private mutating func retire(_ lane: Int, drain: Bool, _ actions: inout [Action], now: ContinuousClock.Instant) {
        let life = lanes[lane].connectedAt.map { now - $0 } ?? .zero
        lanes[lane].failures = life >= limits.shortLife ? 0 : lanes[lane].failures + 1
        lanes[lane].phase = .closed
        lanes[lane].inFlight = 0
        lanes[lane].bytes = 0
        actions.append(.retire(lane: lane, generation: lanes[lane].generation, drain: drain))
    }

    /// Moves waiting pushes onto free streams, and makes connections while some still wait. A provider that could not be
    /// reached is tried again even without pushes: readiness would never come back otherwise.
    private mutating func advance(_ actions: inout [Action], now: ContinuousClock.Instant) {
        while !waiting.isEmpty, let lane = roomiest(now: now), let push = waiting.takeFirst() {
            actions.append(dispatch(push, lane, now: now))
        }
        guard !isClosing else { return }
        for lane in lanes.indices
        where lanes[lane].phase == .closed && (!waiting.isEmpty || lanes[lane].isUnreachable) {
            lanes[lane].phase = .connecting
            lanes[lane].generation += 1
            let after = reconnectDelay(lanes[lane])
            actions.append(.connect(lane: lane, generation: lanes[lane].generation, after: after))
        }
        guard let first = waiting.first else { return }
        if !wakeIsSet {
            wakeIsSet = true
            actions.append(.wake(after: max(limits.waitingTime - (now - first.order.submittedAt), .milliseconds(1))))
        }
        if !paceIsSet, let after = paceRest(now: now) {
            paceIsSet = true
            actions.append(.pace(after: after))
        }
    }

    /// A connection that had served is replaced at once, the first time; after that the waits grow.
    private mutating func reconnectDelay(_ lane: Lane) -> Duration {
        let failures = lane.failures - (lane.wasProven ? 1 : 0)
        guard failures > 0 else { return .zero }
        return limits.reconnect.delay(attempt: failures - 1, using: &generator)
    }

    /// The lane for the next push: one that waits for its proof, so that it becomes useful, else the one with the most room.
    private func roomiest(now: ContinuousClock.Instant) -> Int? {
        if lanes.count == 1 { return room(of: lanes[0], now: now) > 0 ? 0 : nil }
        if let unproven = lanes.firstIndex(where: { $0.phase == .canary && room(of: $0, now: now) > 0 }) {
            return unproven
        }
        var best: (lane: Int, room: Int)?
        for lane in lanes.indices {
            let room = room(of: lanes[lane], now: now)
            if room > best?.room ?? 0 { best = (lane, room) }
        }
        return best?.lane
    }

    /// How many more pushes a connection takes now: streams, bytes and pace considered.
    private func room(of lane: Lane, now: ContinuousClock.Instant) -> Int {
        if lane.bytes >= limits.bytes { return 0 }
        if let pace = limits.pace, let next = lane.nextSendAt, next - now > Self.paceBurst(pace) { return 0 }
        return lane.room
    }

    private mutating func dispatch(_ push: PendingPush, _ lane: Int, now: ContinuousClock.Instant) -> Action {
        note(push, on: lane, now: now)
        return .dispatch(push, lane: lane, generation: lanes[lane].generation)
    }

    private mutating func note(_ push: PendingPush, on lane: Int, now: ContinuousClock.Instant) {
        lanes[lane].inFlight += 1
        lanes[lane].bytes += push.order.weight
        inFlight += 1
        if let pace = limits.pace {
            lanes[lane].nextSendAt = max(lanes[lane].nextSendAt ?? now, now) + .seconds(1) / max(pace, 1)
        }
    }

    /// How far pushes may run ahead of their pace: a tenth of a second's worth, at least one.
    private static func paceBurst(_ pace: Int) -> Duration {
        max(.milliseconds(100) - .seconds(1) / max(pace, 1), .zero)
    }

    /// When pacing lets the next push go, where nothing but pacing holds it back.
    private func paceRest(now: ContinuousClock.Instant) -> Duration? {
        guard let pace = limits.pace else { return nil }
        let held = lanes.filter { $0.room > 0 && $0.bytes < limits.bytes }.compactMap(\.nextSendAt)
        return held.min().map { max($0 - now - Self.paceBurst(pace), .milliseconds(1)) }
    }
}
