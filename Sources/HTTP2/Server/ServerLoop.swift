import CNghttp2
import Glibc
import Kernel
import Observability

/// The server's thread: accepts, completes handshakes, reads, calls the handler, writes.
final class ServerLoop {
    private static let listenerMark: UInt64 = 0
    private static let wakeupMark: UInt64 = 1
    /// Connection ids begin here, so that an id is also the connection's mark in epoll.
    private static let firstID = 2

    private let listener: TCPListener
    private let context: TLSContext
    private let options: HTTP2ServerOptions
    private let handler: any HTTP2ServerHandler
    private let mailbox: ServerMailbox
    private let logger: Logger
    private let accepted: Counter
    private let refused: Counter
    private let handshakeFailed: Counter
    private let epoll: Int32
    private let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 32 * 1024, alignment: 16)

    private var connections: [Int: ServerConnection] = [:]
    private var nextID = ServerLoop.firstID
    private var dirty: [ServerConnection] = []
    /// Connections with more to read than one turn allows.
    private var unread: [ServerConnection] = []
    private var isAccepting = false

    init(
        listener: TCPListener,
        context: TLSContext,
        options: HTTP2ServerOptions,
        handler: any HTTP2ServerHandler,
        mailbox: ServerMailbox,
        telemetry: Telemetry
    ) throws(HTTP2Error) {
        self.listener = listener
        self.context = context
        self.options = options
        self.handler = handler
        self.mailbox = mailbox
        logger = telemetry.logger
        let metrics = telemetry.metrics
        accepted = metrics.counter("http2_server_connections_total", help: "Connections that were accepted.")
        refused = metrics.counter(
            "http2_server_connections_refused_total",
            help: "Connections that were closed at once because too many were open."
        )
        handshakeFailed = metrics.counter(
            "http2_server_handshakes_failed_total",
            help: "Connections that did not get through TLS and ALPN."
        )
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else { throw HTTP2Error(.connectFailed, "epoll_create1 failed: \(systemMessage(errno))") }
        _ = varsel_epoll_set(epoll, EPOLL_CTL_ADD, mailbox.wakeup.descriptor, EPOLLIN.rawValue, Self.wakeupMark)
    }

    deinit {
        close(epoll)
        scratch.deallocate()
    }

    /// Serves until it is told to stop.
    func run() {
        setAccepting(true)
        var events = [epoll_event](repeating: epoll_event(), count: 128)
        var nextTick = MonotonicTime.now + .seconds(1)
        while true {
            let mail = mailbox.take()
            for (connectionID, command) in mail.commands { perform(command, on: connectionID) }
            flushDirty()
            if mail.stop { break }
            let mayWait = unread.isEmpty && mailbox.beginSleep()
            let timeout = mayWait ? nextTick.pollTimeout(now: .now) : 0
            let count = epoll_wait(epoll, &events, Int32(events.count), timeout)
            for index in 0..<max(0, Int(count)) { handle(varsel_epoll_data(&events[index]), events[index].events) }
            readOn()
            if MonotonicTime.now >= nextTick {
                tick()
                nextTick = .now + .seconds(1)
            }
        }
        for connection in connections.values {
            connection.session?.goAway(lastStreamID: nil, errorCode: NGHTTP2_NO_ERROR.rawValue)
            _ = connection.session?.flush()
            connection.channel.shutdown()
            drop(connection)
        }
    }

    private func handle(_ mark: UInt64, _ events: UInt32) {
        switch mark {
        case Self.listenerMark: accept()
        case Self.wakeupMark: mailbox.wakeup.collect()
        default:
            guard let connection = connections[Int(mark)] else { return }
            if connection.lingerUntil != nil {
                discard(connection)
            } else if connection.session == nil {
                handshake(connection)
            } else {
                read(connection)
            }
        }
    }

    /// Once a second: gives up on handshakes that take too long, and accepts again after descriptors had run out.
    private func tick() {
        let now = MonotonicTime.now
        for connection in connections.values where connection.session == nil && connection.handshakeDeadline <= now {
            handshakeFailed.increment()
            drop(connection)
        }
        for connection in connections.values where connection.lingerUntil.map({ $0 <= now }) ?? false {
            drop(connection)
        }
        setAccepting(true)
    }

    // MARK: Connections

    private func setAccepting(_ on: Bool) {
        guard on != isAccepting else { return }
        isAccepting = on
        let operation = on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL
        _ = varsel_epoll_set(epoll, operation, listener.descriptor, EPOLLIN.rawValue, Self.listenerMark)
    }

    private func accept() {
        for _ in 0..<64 {
            let descriptor = listener.accept()
            guard descriptor >= 0 else {
                if errno == EMFILE || errno == ENFILE {
                    logger.error("http2 server is out of descriptors")
                    setAccepting(false)
                }
                return
            }
            guard connections.count < options.maxConnections else {
                refused.increment()
                close(descriptor)
                continue
            }
            TCPConnector.tune(descriptor)
            guard let channel = try? TLSChannel(accepting: descriptor, context: context) else {
                handshakeFailed.increment()
                continue
            }
            accepted.increment()
            let connection = ServerConnection(
                id: nextID,
                channel: channel,
                options: options,
                handshakeDeadline: .now + options.handshakeTimeout
            )
            nextID += 1
            connections[connection.id] = connection
            watch(connection, EPOLLIN.rawValue)
            handshake(connection)
        }
    }

    private func handshake(_ connection: ServerConnection) {
        switch connection.channel.handshake() {
        case .wantsRead: watch(connection, EPOLLIN.rawValue)
        case .wantsWrite: watch(connection, EPOLLOUT.rawValue)
        case .closed, .failed:
            handshakeFailed.increment()
            drop(connection)
        case .done:
            guard (try? connection.begin()) != nil else {
                handshakeFailed.increment()
                return drop(connection)
            }
            handler.connectionOpened(HTTP2ConnectionControl(connectionID: connection.id, mailbox: mailbox))
            markDirty(connection)
            read(connection)
        }
    }

    private func watch(_ connection: ServerConnection, _ events: UInt32) {
        guard events != connection.watched else { return }
        let operation = connection.watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD
        connection.watched = events
        _ = varsel_epoll_set(epoll, operation, connection.channel.descriptor, events, UInt64(connection.id))
    }

    /// Says the last word and waits for the peer's. Closing with unread bytes would send a TCP reset, which destroys what the
    /// peer has not read yet: the GOAWAY and the last answers.
    private func linger(_ connection: ServerConnection) {
        guard connection.lingerUntil == nil else { return }
        connection.channel.shutdown()
        connection.lingerUntil = .now + .seconds(2)
        watch(connection, EPOLLIN.rawValue)
    }

    private func discard(_ connection: ServerConnection) {
        for _ in 0..<16 {
            let count = recv(connection.channel.descriptor, scratch.baseAddress, scratch.count, 0)
            if count > 0 { continue }
            if count < 0, errno == EAGAIN || errno == EINTR { return }
            return drop(connection)
        }
    }

    private func drop(_ connection: ServerConnection) {
        guard connections.removeValue(forKey: connection.id) != nil else { return }
        _ = varsel_epoll_set(epoll, EPOLL_CTL_DEL, connection.channel.descriptor, 0, 0)
        let wasOpen = connection.session != nil
        connection.end()
        if wasOpen { handler.connectionClosed(connection.id) }
    }

    // MARK: Frames

    private func readOn() {
        var connections: [ServerConnection] = []
        swap(&connections, &unread)
        for connection in connections where connection.session != nil && connection.lingerUntil == nil {
            read(connection)
        }
    }

    private func read(_ connection: ServerConnection) {
        guard let session = connection.session else { return }
        var outcome = HTTP2Session.Outcome.done
        var records = 0
        while outcome == .done, records < 16 {
            outcome = session.receive(scratch: scratch)
            records += 1
        }
        let control = HTTP2ConnectionControl(connectionID: connection.id, mailbox: mailbox)
        for request in connection.ready {
            handler.handle(request, respond: HTTP2Responder(connection: control, streamID: request.streamID))
        }
        connection.ready.removeAll(keepingCapacity: true)
        switch outcome {
        case .blocked: break
        case .done: unread.append(connection)
        case .ended:
            // What nghttp2 has to say of a violation goes out first.
            _ = session.flush()
            return drop(connection)
        }
        markDirty(connection)
    }

    private func perform(_ command: ServerMailbox.Command, on connectionID: Int) {
        guard let connection = connections[connectionID] else { return }
        if case .abort = command {
            connection.channel.resetOnClose()
            return drop(connection)
        }
        connection.perform(command)
        markDirty(connection)
    }

    private func markDirty(_ connection: ServerConnection) {
        guard !connection.isDirty else { return }
        connection.isDirty = true
        dirty.append(connection)
    }

    private func flushDirty() {
        var connections: [ServerConnection] = []
        swap(&connections, &dirty)
        for connection in connections {
            connection.isDirty = false
            guard let session = connection.session else { continue }
            switch session.flush() {
            case .done where session.isFinished: linger(connection)
            case .done: watch(connection, EPOLLIN.rawValue)
            case .blocked: watch(connection, EPOLLIN.rawValue | EPOLLOUT.rawValue)
            case .ended: drop(connection)
            }
        }
    }
}
