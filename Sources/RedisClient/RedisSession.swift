import Glibc
import Kernel
import Observability
import Synchronization

/// What the client's thread knows: the connection and its phase, calls that wait for it, calls that wait for answers.
struct RedisSession: ~Copyable {
    private enum Phase {
        case disconnected(nextAttempt: ContinuousClock.Instant)
        case connecting(deadline: ContinuousClock.Instant)
        case greeting(deadline: ContinuousClock.Instant, unanswered: Int)
        case ready
    }

    private struct InFlight {
        let call: RedisCall
        var replies: [RedisReply] = []
    }

    private let loop: RedisConnectionLoop
    private var phase = Phase.disconnected(nextAttempt: .now)
    private var socket: RedisSocket?
    private var backlog: [RedisCall] = []
    private var inFlight: [InFlight] = []
    /// The first call in `inFlight` that is not finished; what lies before it is cut off now and then.
    private var head = 0
    private var failedAttempts = 0
    private var lastFailure = "no attempt was made yet"
    private let backoff = Backoff(base: .milliseconds(20), limit: .seconds(1))
    private var random = SystemRandomNumberGenerator()

    init(loop: RedisConnectionLoop) {
        self.loop = loop
    }

    mutating func accept(_ calls: [RedisCall]) {
        backlog.append(contentsOf: calls)
    }

    /// Does everything that can be done without waiting.
    mutating func advance() {
        let now = ContinuousClock.now
        expire(now)
        switch phase {
        case .disconnected(let nextAttempt):
            if !backlog.isEmpty, now >= nextAttempt { connect(now) }
        case .connecting(let deadline), .greeting(let deadline, _):
            if now >= deadline { disconnect(RedisError(.notConnected, "connecting took too long")) }
        case .ready:
            sendBacklog()
        }
    }

    /// Sleeps until the bell rings, the socket has news, or the next deadline, and then handles the socket.
    mutating func wait(bell: Int32) {
        var descriptors = [pollfd(fd: bell, events: Int16(POLLIN), revents: 0)]
        if let interest = socketInterest { descriptors.append(interest) }
        let result = poll(&descriptors, nfds_t(descriptors.count), timeoutInMilliseconds())
        guard result > 0, descriptors.count > 1, descriptors[1].revents != 0 else { return }
        do throws(RedisError) {
            try handleSocket(events: descriptors[1].revents)
        } catch {
            disconnect(error)
        }
    }

    mutating func failAll(_ error: RedisError) {
        for entry in inFlight[head...] {
            finish(entry.call, .failure(RedisError(error.code, error.message, wasSent: true)))
        }
        inFlight = []
        head = 0
        for call in backlog { finish(call, .failure(error)) }
        backlog = []
        socket = nil
    }

    // MARK: Connecting

    private mutating func connect(_ now: ContinuousClock.Instant) {
        do throws(RedisError) {
            socket = try RedisSocket(connectingTo: loop.url.address)
            phase = .connecting(deadline: now + loop.options.connectTimeout)
        } catch {
            disconnect(error)
        }
    }

    private mutating func greet(deadline: ContinuousClock.Instant) throws(RedisError) {
        var commands: [RedisCommand] = []
        if let password = loop.url.password {
            let user = loop.url.user.map { [RedisArgument.string($0)] } ?? []
            commands.append(RedisCommand(["AUTH"] + user + [.string(password)]))
        }
        if let name = loop.options.connectionName {
            commands.append(RedisCommand(["CLIENT", "SETNAME", .string(name)]))
        }
        if loop.url.database != 0 {
            commands.append(RedisCommand(["SELECT", .integer(Int64(loop.url.database))]))
        }
        // A server that still loads its data refuses this, and so does one that wants a password.
        commands.append(RedisCommand(["PING"]))
        for command in commands { socket?.append(command) }
        phase = .greeting(deadline: deadline, unanswered: commands.count)
        try socket?.write()
    }

    /// Throws the connection away and, after a failed attempt, sets the time of the next one.
    private mutating func disconnect(_ error: RedisError) {
        socket = nil
        let wasReady = if case .ready = phase { true } else { false }
        if wasReady {
            loop.metrics.lostConnections.increment()
            loop.telemetry.logger.warning(
                "redis connection lost",
                ["client": .string(loop.options.label), "error": .error(error)]
            )
            phase = .disconnected(nextAttempt: .now)
        } else {
            loop.metrics.connectFailures.increment()
            // Every failure is counted; a line for each would flood the log of a long outage.
            if failedAttempts == 0 || failedAttempts.isMultiple(of: 30) {
                loop.telemetry.logger.warning(
                    "redis cannot be reached",
                    [
                        "client": .string(loop.options.label), "server": .string(loop.url.description),
                        "error": .error(error),
                    ]
                )
            }
            phase = .disconnected(nextAttempt: .now + backoff.delay(attempt: failedAttempts, using: &random))
            failedAttempts += 1
        }
        lastFailure = error.message
        let broken = inFlight[head...]
        inFlight = []
        head = 0
        for entry in broken {
            finish(entry.call, .failure(RedisError(.connectionLost, error.message, wasSent: true)))
        }
    }

    // MARK: Writing and reading

    private mutating func sendBacklog() {
        guard !backlog.isEmpty else { return }
        for call in backlog {
            for command in call.commands { socket?.append(command) }
            inFlight.append(InFlight(call: call))
        }
        backlog.removeAll(keepingCapacity: true)
        do throws(RedisError) {
            try socket?.write()
        } catch {
            disconnect(error)
        }
    }

    private var socketInterest: pollfd? {
        guard let socket else { return nil }
        var events = Int16(POLLIN)
        if case .connecting = phase { events = Int16(POLLOUT) } else if socket.hasOutput { events |= Int16(POLLOUT) }
        return pollfd(fd: socket.descriptor, events: events, revents: 0)
    }

    private mutating func handleSocket(events: Int16) throws(RedisError) {
        if case .connecting(let deadline) = phase {
            try socket?.finishConnecting()
            try greet(deadline: deadline)
            return
        }
        if events & Int16(POLLOUT) != 0 { try socket?.write() }
        guard events & Int16(POLLIN | POLLERR | POLLHUP) != 0 else { return }
        try socket?.read()
        while let reply = try socket?.nextReply() { try take(reply) }
        if head == inFlight.count {
            inFlight.removeAll(keepingCapacity: true)
            head = 0
        } else if head > 1024 {
            inFlight.removeFirst(head)
            head = 0
        }
    }

    private mutating func take(_ reply: RedisReply) throws(RedisError) {
        if case .greeting(let deadline, let unanswered) = phase {
            if case .error(let message) = reply { throw RedisError(.notConnected, message) }
            if unanswered > 1 {
                phase = .greeting(deadline: deadline, unanswered: unanswered - 1)
            } else {
                phase = .ready
                failedAttempts = 0
                loop.metrics.connections.increment()
            }
            return
        }
        guard head < inFlight.count else { throw RedisError(.connectionLost, "an answer came that nobody asked for") }
        inFlight[head].replies.append(reply)
        guard inFlight[head].replies.count == inFlight[head].call.commands.count else { return }
        finish(inFlight[head].call, .success(inFlight[head].replies))
        head += 1
    }

    private func finish(_ call: RedisCall, _ result: sending Result<[RedisReply], RedisError>) {
        loop.outstanding.wrappingSubtract(1, ordering: .relaxed)
        call.finish(result)
    }

    // MARK: Deadlines

    private mutating func expire(_ now: ContinuousClock.Instant) {
        if backlog.contains(where: { $0.deadline <= now }) {
            for call in backlog where call.deadline <= now {
                loop.metrics.timeouts.increment()
                finish(call, .failure(RedisError(.notConnected, "no connection in time: \(lastFailure)")))
            }
            backlog.removeAll { $0.deadline <= now }
        }
        guard inFlight[head...].contains(where: { $0.call.deadline <= now }) else { return }
        // Answers come in order, so a late one blocks the connection: it cannot be used any more.
        for entry in inFlight[head...] where entry.call.deadline <= now {
            loop.metrics.timeouts.increment()
            let name = entry.call.commands.first?.name ?? "?"
            finish(entry.call, .failure(RedisError(.timeout, "\(name) was not answered in time", wasSent: true)))
        }
        inFlight = inFlight[head...].filter { $0.call.deadline > now }
        head = 0
        disconnect(RedisError(.connectionLost, "the connection was given up because an answer was late"))
    }

    private func timeoutInMilliseconds() -> Int32 {
        var next: ContinuousClock.Instant?
        func consider(_ moment: ContinuousClock.Instant) {
            next = next.map { min($0, moment) } ?? moment
        }
        switch phase {
        case .disconnected(let attempt): if !backlog.isEmpty { consider(attempt) }
        case .connecting(let deadline), .greeting(let deadline, _): consider(deadline)
        case .ready:
            // A connection that became ready just now has calls to write at once.
            if !backlog.isEmpty { return 0 }
        }
        for call in backlog { consider(call.deadline) }
        for entry in inFlight[head...] { consider(entry.call.deadline) }
        guard let next else { return -1 }
        // Rounded up, so that the thread does not wake a moment too early and spin.
        let milliseconds = (next - .now).milliseconds + 1
        return Int32(clamping: max(0, milliseconds))
    }
}
