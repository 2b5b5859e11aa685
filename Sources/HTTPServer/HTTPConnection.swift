import CMicrohttpd
import Glibc
import Observability
import Synchronization

/// One connection and the request on it. The library's thread, the handler's task and the sweep all meet here; whoever
/// moves the phase on under the lock owns the next step.
final class HTTPConnection: Sendable {
    /// Where the connection stands, for timeouts.
    enum Phase {
        /// A request is arriving.
        case receiving
        /// The connection is suspended while a handler runs.
        case running
        /// An answer is decided and on its way out.
        case answering
        /// Kept alive between requests.
        case idle
    }

    struct State {
        var phase = Phase.receiving
        var since: ContinuousClock.Instant
        /// Tells requests on one connection apart, so that a late handler cannot answer the next one.
        var request = 0
        var target = ""
        var head: RequestHead?
        var admission: Admission?
        var body: [UInt8] = []
        var received = 0
        /// Bytes taken out of the server's budget for bodies.
        var budgeted = 0
        /// Decided before the body was read, sent after it.
        var refusal: Problem?
        var response: HTTPResponse?
        var task: Task<Void, Never>?
        /// The library holds the connection suspended, or has not yet taken it up again.
        var suspended = false
        /// The server broke the connection off.
        var broken = false
        var closed = false
    }

    /// The library's connection. Touched only from its own thread, or by `resume` while it is suspended, when it cannot go
    /// away.
    nonisolated(unsafe) let handle: OpaquePointer
    let descriptor: Int32
    let peer: IPAddress
    let state: Mutex<State>

    init(handle: OpaquePointer, descriptor: Int32, peer: IPAddress, now: ContinuousClock.Instant) {
        self.handle = handle
        self.descriptor = descriptor
        self.peer = peer
        state = Mutex(State(since: now))
    }

    /// The request line has come: a new request begins.
    func begin(target: String, now: ContinuousClock.Instant) {
        state.withLock { state in
            state.request += 1
            state.phase = .receiving
            state.since = now
            state.target = target
            state.head = nil
            state.admission = nil
            state.body = []
            state.received = 0
            state.refusal = nil
            state.response = nil
            state.task = nil
        }
    }

    /// Claims the right to answer a running request.
    /// - Returns: what is needed to finish it, or `nil` when somebody else was first.
    func claim(request: Int?, now: ContinuousClock.Instant) -> (Admission, Duration, Task<Void, Never>?)? {
        state.withLock { state in
            guard state.phase == .running, request == nil || request == state.request, let admission = state.admission
            else { return nil }
            let taken = now - state.since
            state.phase = .answering
            state.since = now
            defer { state.task = nil }
            return (admission, taken, state.task)
        }
    }

    /// Leaves the finished answer for the library's thread and wakes it. Only after `claim`.
    func resume(with response: HTTPResponse) {
        state.withLock { $0.response = response }
        MHD_resume_connection(handle)
    }

    /// The library's thread has the connection back, to send the answer or because the client is gone.
    /// - Returns: whether it was suspended until now.
    func takenUp() -> Bool {
        state.withLock { state in
            defer { state.suspended = false }
            return state.suspended
        }
    }

    /// The answer is out, or the request was given up.
    /// - Returns: the bytes to give back to the budget for bodies.
    func rest(now: ContinuousClock.Instant) -> Int {
        state.withLock { state in
            defer { state.budgeted = 0 }
            state.phase = .idle
            state.since = now
            state.body = []
            state.response = nil
            state.head = nil
            return state.budgeted
        }
    }

    /// Breaks the connection off, so that the library's thread closes it.
    /// - Parameters:
    ///   - counter: counts it before the client can notice.
    ///   - condition: asked under the lock, so that the answer still holds when the socket is shut.
    func shut(counting counter: Counter, where condition: (State) -> Bool) {
        state.withLock { state in
            guard !state.closed, !state.broken, condition(state) else { return }
            state.broken = true
            counter.increment()
            shutdown(descriptor, Int32(SHUT_RDWR))
        }
    }

    /// The library is about to close the socket: from here on its number may belong to another.
    /// - Returns: the bytes to give back to the budget for bodies.
    func markClosed() -> Int {
        state.withLock { state in
            defer { state.budgeted = 0 }
            state.closed = true
            return state.budgeted
        }
    }
}
