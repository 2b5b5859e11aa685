import CNghttp2
import Glibc
import Kernel
import Observability

/// The thread of a client connection: owns the session and all streams, from connecting to the last completion.
///
/// Each turn takes the mail, writes, waits, reads, and calls completions last, so that foreign code never runs inside nghttp2.
final class ClientLoop {
    let mailbox: ClientMailbox
    let options: HTTP2ClientOptions
    private let metrics: ClientMetrics
    private let logger: Logger
    private let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 32 * 1024, alignment: 16)

    var session: HTTP2Session?
    var streams = StreamTable<ClientStream>()
    var stall: StallDetector
    var pings = PendingPings()
    var goAway: (lastStreamID: Int32, reason: String)?
    var settingsReceived = false
    /// The time of this turn, so that a turn asks the clock once.
    var now = MonotonicTime.now
    /// Streams whose completions are to be called at the end of the turn.
    private var finished: [ClientStream] = []
    /// The batch under delivery; kept for its memory.
    private var delivering: [ClientStream] = []
    /// See `HTTP2ClientOptions.keptHeaders`.
    let keptHeaders: [[UInt8]]?
    private var mail = ClientMailbox.Mail()
    private var freedStreams = 0
    private var timeoutsInARow = 0
    private var deadlines = DeadlineQueue()
    private var closeBy: MonotonicTime?
    private var idsExhausted = false

    init(mailbox: ClientMailbox, options: HTTP2ClientOptions, telemetry: Telemetry) {
        self.mailbox = mailbox
        self.options = options
        metrics = ClientMetrics(telemetry.metrics)
        logger = telemetry.logger
        stall = StallDetector(options: options, now: .now)
        keptHeaders = options.keptHeaders?.map { Array($0.utf8) }
    }

    deinit {
        scratch.deallocate()
    }

    // MARK: Life

    /// Connects and serves the connection until it ends.
    /// - Parameter ready: called once, when the peer's SETTINGS have come or will not come.
    func run(_ connector: ClientConnector, ready: (Result<Void, HTTP2Error>) -> Void) {
        let deadline = MonotonicTime.now + options.connectTimeout
        do {
            let channel = try connector.connect(deadline: deadline)
            let session = try HTTP2Session(isServer: false, channel: channel, events: self)
            self.session = session
            try begin(session, host: connector.host, deadline: deadline)
        } catch {
            metrics.connectFailed(error.code)
            logger.warning(
                "http2 connection failed",
                ["host": .string(connector.host), "error": .string(error.description)]
            )
            end(error, session)
            ready(.failure(error))
            return
        }
        metrics.opened.increment()
        deliver()
        ready(.success(()))
        guard let session else { return }
        let reason = serve(session)
        metrics.closed.increment()
        let error = reason ?? HTTP2Error(.closing, goAway.map { "the peer went away: \($0.reason)" } ?? "closed")
        logger.info("http2 connection ended", ["host": .string(connector.host), "reason": .string(error.message)])
        end(error, session)
    }

    /// Exchanges the first SETTINGS.
    private func begin(_ session: HTTP2Session, host: String, deadline: MonotonicTime) throws(HTTP2Error) {
        session.submit(settings: [
            (NGHTTP2_SETTINGS_ENABLE_PUSH, 0),
            (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 0),
            (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, UInt32(clamping: options.maxResponseHeaders)),
        ])
        // Answers are read as they come and bounded one by one, so the peer need not wait for the connection's window.
        session.setConnectionWindow(4 * 1024 * 1024)
        while !settingsReceived {
            now = .now
            let blocked: Bool
            switch session.flush() {
            case .blocked: blocked = true
            case .done: blocked = false
            case .ended(let reason): throw lost(reason, host)
            }
            let events = Int16(blocked ? POLLIN | POLLOUT : POLLIN)
            switch session.receive(scratch: scratch) {
            case .done: continue
            case .ended(let reason): throw lost(reason, host)
            case .blocked:
                guard waitUntilReady(session.channel.descriptor, events, deadline: deadline) else {
                    throw HTTP2Error(.connectFailed, "\(host) sent no SETTINGS in time")
                }
            }
        }
    }

    private func lost(_ reason: String?, _ host: String) -> HTTP2Error {
        // With TLS 1.3 a refused client certificate shows only now.
        HTTP2Error(.connectionLost, "\(host) closed the connection at its beginning: \(reason ?? "end of stream")")
    }

    /// Runs turns until the connection is over.
    /// - Returns: why, or `nil` when it ended in order.
    private func serve(_ session: HTTP2Session) -> HTTP2Error? {
        var moreToRead = false
        while true {
            now = .now
            takeMail(session)
            expireStreams(session)
            if let error = checkLife(session) { return error }
            let flushed = session.flush()
            if case .ended(let reason) = flushed { return connectionLost(reason) }
            deliver()
            if isDone { return nil }
            if session.isFinished { return connectionLost("the peer broke the rules of HTTP/2") }
            let mayWait = !moreToRead && mailbox.beginSleep()
            wait(session, for: mayWait ? nextDeadline : now, writing: flushed == .blocked)
            now = .now
            switch read(session) {
            case .ended(let reason):
                deliver()
                return isDone ? nil : connectionLost(reason)
            case .done: moreToRead = true
            case .blocked: moreToRead = false
            }
            deliver()
        }
    }

    private func connectionLost(_ reason: String?) -> HTTP2Error {
        let goAway = goAway.map { " after GOAWAY: \($0.reason)" } ?? ""
        return HTTP2Error(.connectionLost, "\(reason ?? "the peer closed the connection")\(goAway)")
    }

    /// Whether nothing is left to do: the peer went away or we are closing, and no stream is open.
    private var isDone: Bool {
        guard goAway != nil || closeBy != nil || idsExhausted else { return false }
        if let closeBy, now >= closeBy { return true }
        return streams.count == 0
    }

    /// Ends every request and tells everyone.
    private func end(_ error: HTTP2Error, _ session: HTTP2Session?) {
        // Held to the end: what is flushed below may point into their requests.
        let open = streams.all
        defer { withExtendedLifetime(open) {} }
        for (tag, stream) in open {
            streams.remove(tag)
            finish(
                stream,
                .failure(HTTP2Error(error.code, error.message, wasProcessed: stream.processedState))
            )
        }
        if let session {
            if error.code == .closing {
                session.goAway(lastStreamID: nil, errorCode: 0)
                // Best effort: the peer may be gone, and nothing depends on it.
                _ = session.flush()
                session.channel.shutdown()
            }
        }
        session?.invalidate()
        self.session = nil
        let last = mailbox.finish(HTTP2Error(.closing, "the connection is closed: \(error.message)"))
        deliver()
        for request in last.mail.requests {
            metrics.failed(error.code)
            if request.finish(.failure(HTTP2Error(error.code, error.message))) { request.complete() }
        }
        for ping in last.mail.pings { ping.completion(.failure(error)) }
        pings.failAll(error)
        mailbox.notification?()
        mailbox.forgetListener()
        for waiter in last.waiters { waiter.resume() }
    }

    // MARK: One turn

    private func takeMail(_ session: HTTP2Session) {
        // Local meanwhile: others look at the loop while the requests are submitted.
        var mail = ClientMailbox.Mail()
        swap(&mail, &self.mail)
        defer { swap(&mail, &self.mail) }
        mailbox.take(into: &mail)
        for stream in mail.requests { submit(stream, session) }
        for id in mail.cancelled {
            guard let found = streams.all.first(where: { $0.stream.id == id })?.stream else { continue }
            abandon(found, HTTP2Error(.cancelled, "the caller gave up", wasProcessed: found.processedState), session)
        }
        for ping in mail.pings {
            if let payload = pings.add(ping) { session.ping(payload) }
        }
        if let time = mail.closeBy { closeBy = min(closeBy ?? time, time) }
        if mail.stateWanted { mailbox.notification?() }
        mail.removeAll()
    }

    private func submit(_ stream: ClientStream, _ session: HTTP2Session) {
        if let refusal = refusal(stream) {
            freedStreams += 1
            finish(stream, .failure(refusal))
            return
        }
        let tag = streams.insert(stream)
        switch session.submit(stream.content, tag: tag) {
        case .stream(let streamID):
            stream.streamID = streamID
            if deadlines.needsCompaction(open: streams.count) {
                deadlines.compact { entry in streams[entry.tag]?.id == entry.id }
            }
            deadlines.insert(DeadlineQueue.Entry(deadline: stream.deadline, tag: tag, id: stream.id))
            stall.requestSent(now: now)
        case .invalid:
            streams.remove(tag)
            freedStreams += 1
            finish(stream, .failure(HTTP2Error(.invalidRequest, "a header name or value is not allowed in HTTP/2")))
        case .exhausted:
            streams.remove(tag)
            freedStreams += 1
            idsExhausted = true
            mailbox.update { $0.isClosing = true }?()
            finish(stream, .failure(HTTP2Error(.closing, "the connection has used up its stream ids")))
        }
    }

    /// Why a request that was accepted cannot be sent any more.
    private func refusal(_ stream: ClientStream) -> HTTP2Error? {
        if let goAway { return HTTP2Error(.goAwayNotProcessed, "the peer is going away: \(goAway.reason)") }
        if idsExhausted { return HTTP2Error(.closing, "the connection has used up its stream ids") }
        if now >= stream.deadline { return HTTP2Error(.timeout, "the deadline passed before the request was sent") }
        let limit = currentLimit
        guard streams.count < limit else {
            return HTTP2Error(.tooManyStreams, "the peer has lowered its limit to \(limit) streams")
        }
        return nil
    }

    /// How many streams may be open now.
    private var currentLimit: Int {
        guard let session else { return 0 }
        return min(Int(session.peerSetting(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)), options.maxConcurrentStreams)
    }

    private func expireStreams(_ session: HTTP2Session) {
        while let entry = deadlines.popExpired(now: now) {
            guard let stream = streams[entry.tag], stream.id == entry.id else { continue }
            timeoutsInARow += 1
            abandon(
                stream,
                HTTP2Error(.timeout, "no complete answer in time", wasProcessed: stream.processedState),
                session
            )
        }
        pings.expire(now: now)
    }

    private func checkLife(_ session: HTTP2Session) -> HTTP2Error? {
        switch stall.check(now: now) {
        case .wait: return nil
        case .sendPing:
            session.ping(PendingPings.stallPayload)
            return nil
        case .dead:
            metrics.stalled.increment()
            return HTTP2Error(.connectionLost, "the peer gave no sign of life")
        case .unresponsive:
            metrics.stalled.increment()
            return HTTP2Error(.connectionLost, "the peer lives, but answers none of its requests")
        }
    }

    private var nextDeadline: MonotonicTime {
        var next = now + .seconds(60)
        if case .wait(let time) = stall.check(now: now) { next = min(next, time) }
        for time in [deadlines.earliest, pings.earliest, closeBy] { if let time { next = min(next, time) } }
        return next
    }

    private func wait(_ session: HTTP2Session, for deadline: MonotonicTime, writing: Bool) {
        let events = Int16(writing ? POLLIN | POLLOUT : POLLIN)
        var entries = (
            pollfd(fd: session.channel.descriptor, events: events, revents: 0),
            pollfd(fd: mailbox.wakeup.descriptor, events: Int16(POLLIN), revents: 0)
        )
        let timeout = deadline.pollTimeout(now: now)
        let woken = withUnsafeMutableBytes(of: &entries) { buffer in
            buffer.withMemoryRebound(to: pollfd.self) { poll($0.baseAddress, 2, timeout) }
        }
        if woken > 0, entries.1.revents != 0 { mailbox.wakeup.collect() }
    }

    /// Reads a bounded number of records, so that writing and deadlines get their turn.
    private func read(_ session: HTTP2Session) -> HTTP2Session.Outcome {
        for _ in 0..<16 {
            let outcome = session.receive(scratch: scratch)
            if outcome != .done { return outcome }
        }
        return .done
    }

    // MARK: Ends of streams

    /// Gives a stream up for a reason of our own: its request ends now, the stream is reset.
    func abandon(_ stream: ClientStream, _ error: HTTP2Error, _ session: HTTP2Session) {
        finish(stream, .failure(error))
        stream.body = []
        session.reset(stream.streamID, NGHTTP2_CANCEL.rawValue)
    }

    /// Remembers the completion for the end of the turn; only the first result of a stream counts.
    func finish(_ stream: ClientStream, _ result: Result<HTTP2Response, HTTP2Error>) {
        guard stream.finish(result) else { return }
        switch result {
        case .success:
            timeoutsInARow = 0
            metrics.answered.increment()
        case .failure(let error): metrics.failed(error.code)
        }
        finished.append(stream)
    }

    /// Frees a stream's slot.
    func free(_ tag: Int) {
        streams.remove(tag)
        freedStreams += 1
    }

    /// Publishes the state, then calls the completions, which may send again at once.
    private func deliver() {
        let freed = freedStreams
        freedStreams = 0
        let limit = currentLimit
        let timeouts = timeoutsInARow
        let goAway = goAway
        let hasSession = session != nil
        let notify = mailbox.update { state in
            if hasSession {
                state.activeStreams -= freed
                state.peerMaxConcurrentStreams = limit
            }
            state.timeoutsInARow = timeouts
            if let goAway {
                state.goAwayReason = goAway.reason
                state.isClosing = true
            }
            state.settingsReceived = true
        }
        if !finished.isEmpty {
            swap(&delivering, &finished)
            for stream in delivering { stream.complete() }
            delivering.removeAll(keepingCapacity: true)
        }
        notify?()
    }
}
