import Kernel
import Synchronization

/// What other threads share with a connection's thread: the requests that wait, and the connection's state. One lock, held
/// for moments; the thread is woken only when it sleeps.
final class ClientMailbox: Sendable {
    typealias State = HTTP2ClientConnection.State

    struct Ping {
        let deadline: MonotonicTime
        let completion: @Sendable (Result<Void, HTTP2Error>) -> Void
    }

    /// What the thread collects.
    struct Mail {
        var requests: [ClientStream] = []
        var cancelled: [UInt64] = []
        var pings: [Ping] = []
        /// When set, the connection is to be closed, at this time at the latest.
        var closeBy: MonotonicTime?
        /// The listener wants to hear the state although it has not changed.
        var stateWanted = false

        var isEmpty: Bool {
            requests.isEmpty && cancelled.isEmpty && pings.isEmpty && closeBy == nil && !stateWanted
        }

        /// Empties it, but keeps the memory for the next round.
        mutating func removeAll() {
            requests.removeAll(keepingCapacity: true)
            cancelled.removeAll()
            pings.removeAll()
            closeBy = nil
            stateWanted = false
        }
    }

    private struct Shared {
        var mail = Mail()
        var queuedBytes = 0
        var nextID: UInt64 = 1
        var sleeping = false
        var state = State()
        /// Why requests are refused, once they are.
        var refusal: HTTP2Error?
        var listener: (@Sendable (State) -> Void)?
        var closeWaiters: [CheckedContinuation<Void, Never>] = []
    }

    let wakeup: Wakeup
    private let maxQueuedBytes: Int
    private let shared = Mutex(Shared())
    private static let maxPings = 16

    init(options: HTTP2ClientOptions) throws(HTTP2Error) {
        wakeup = try Wakeup()
        maxQueuedBytes = options.maxQueuedBytes
    }

    var state: State { shared.withLock { $0.state } }

    // MARK: Any thread

    /// Queues a request, or says why not; then the completion is not called.
    func post(_ stream: ClientStream) -> Result<UInt64, HTTP2Error> {
        let weight = stream.content.weight
        return deliver { shared in
            if let refusal = shared.refusal { return .failure(refusal) }
            guard shared.state.activeStreams < shared.state.peerMaxConcurrentStreams else {
                return .failure(
                    HTTP2Error(.tooManyStreams, "\(shared.state.activeStreams) streams are open, all that are allowed")
                )
            }
            guard shared.queuedBytes + weight <= maxQueuedBytes || shared.mail.requests.isEmpty else {
                return .failure(HTTP2Error(.queueFull, "\(shared.queuedBytes) bytes wait to be sent"))
            }
            let id = shared.nextID
            shared.nextID += 1
            shared.queuedBytes += weight
            shared.state.activeStreams += 1
            stream.id = id
            shared.mail.requests.append(stream)
            return .success(id)
        }
    }

    /// Asks for a request to be given up; its completion is called with `cancelled` unless it has already been called.
    func cancel(_ id: UInt64) {
        deliver { shared in
            if !shared.state.isClosed { shared.mail.cancelled.append(id) }
        }
    }

    func post(_ ping: Ping) {
        let refusal: HTTP2Error? = deliver { shared in
            if let closed = shared.state.isClosed ? shared.refusal : nil { return closed }
            guard shared.mail.pings.count < Self.maxPings else { return HTTP2Error(.queueFull, "too many pings wait") }
            shared.mail.pings.append(ping)
            return nil
        }
        if let refusal { ping.completion(.failure(refusal)) }
    }

    /// Refuses requests from now on and asks the thread to end when those under way have, at `deadline` at the latest.
    func close(by deadline: MonotonicTime) {
        deliver { shared in
            shared.refusal = shared.refusal ?? HTTP2Error(.closing, "the connection is closing")
            shared.state.isClosing = true
            shared.mail.stateWanted = true
            shared.mail.closeBy = min(shared.mail.closeBy ?? deadline, deadline)
        }
    }

    func waitUntilClosed() async {
        await withCheckedContinuation { continuation in
            let isClosed = shared.withLock { shared in
                if !shared.state.isClosed { shared.closeWaiters.append(continuation) }
                return shared.state.isClosed
            }
            if isClosed { continuation.resume() }
        }
    }

    func listen(_ listener: @escaping @Sendable (State) -> Void) {
        let closed: State? = deliver { shared in
            // A closed connection never changes again, so it need not hold on to the listener.
            if shared.state.isClosed { return shared.state }
            shared.listener = listener
            shared.mail.stateWanted = true
            return nil
        }
        if let closed { listener(closed) }
    }

    /// Changes the mail and wakes the thread when it sleeps.
    private func deliver<Answer: Sendable>(_ change: (inout sending Shared) -> Answer) -> Answer {
        let (answer, wake) = shared.withLock { shared in
            let answer = change(&shared)
            let wake = shared.sleeping && !shared.mail.isEmpty
            if wake { shared.sleeping = false }
            return (answer, wake)
        }
        if wake { wakeup.signal() }
        return answer
    }

    // MARK: The connection's thread

    /// Collects what waits into an empty mail, whose memory takes the next requests.
    func take(into mail: inout Mail) {
        shared.withLock { shared in
            shared.sleeping = false
            shared.queuedBytes = 0
            swap(&mail, &shared.mail)
        }
    }

    /// Announces that the thread is about to wait, unless there is mail.
    func beginSleep() -> Bool {
        shared.withLock { shared in
            shared.sleeping = shared.mail.isEmpty
            return shared.sleeping
        }
    }

    /// Changes the state.
    /// - Returns: the listener and the new state when it differs from the old one.
    func update(_ change: (inout State) -> Void) -> (@Sendable () -> Void)? {
        shared.withLock { shared -> (@Sendable () -> Void)? in
            let before = shared.state
            change(&shared.state)
            let state = shared.state
            if state.isClosing, shared.refusal == nil {
                let reason = state.goAwayReason.map { ": \($0)" } ?? ""
                shared.refusal = HTTP2Error(.closing, "the connection is closing\(reason)")
            }
            guard state != before, let listener = shared.listener else { return nil }
            return { listener(state) }
        }
    }

    /// The listener bound to the present state.
    var notification: (@Sendable () -> Void)? {
        shared.withLock { shared -> (@Sendable () -> Void)? in
            let state = shared.state
            guard let listener = shared.listener else { return nil }
            return { listener(state) }
        }
    }

    /// Marks the connection as closed.
    /// - Returns: the last mail, whose senders must be told, and what else is to be called.
    func finish(_ error: HTTP2Error) -> (mail: Mail, waiters: [CheckedContinuation<Void, Never>]) {
        shared.withLock { shared in
            shared.refusal = error
            shared.state.isClosing = true
            shared.state.isClosed = true
            shared.state.activeStreams = 0
            var mail = Mail()
            swap(&mail, &shared.mail)
            defer { shared.closeWaiters = [] }
            return (mail, shared.closeWaiters)
        }
    }

    /// Lets go of the listener, and with it of whatever that holds.
    func forgetListener() {
        shared.withLock { $0.listener = nil }
    }
}
