import CCurl
import Synchronization

/// One request with whoever waits for it.
struct FetchOrder: Sendable {
    let request: FetchRequest
    let ticket: FetchTicket
    /// Called exactly once.
    let completion: @Sendable (Result<FetchResponse, FetchError>) -> Void
}

/// By which a caller breaks its request off, before it was handed over or after.
final class FetchTicket: Sendable {
    private let flag = Atomic(false)

    var isCancelled: Bool { flag.load(ordering: .acquiring) }

    func cancel() {
        flag.store(true, ordering: .releasing)
    }
}

/// What other threads want of a client's thread.
final class FetchMailbox: Sendable {
    private struct State {
        var waiting: [FetchOrder] = []
        var isClosed = false
        /// The thread has ended and takes nothing any more.
        var hasEnded = false
        var endWaiters: [CheckedContinuation<Void, Never>] = []
        /// What ends the thread's wait; there from its first turn to its last.
        var wake: Wake?
    }

    /// libcurl's handle as other threads may use it.
    private struct Wake: @unchecked Sendable {
        // Unchecked: only curl_multi_wakeup is called with it, which any thread may call while the handle lives; it is taken
        // away, under the lock, before the handle is freed.
        let multi: UnsafeMutableRawPointer
    }

    private let waitingLimit: Int
    private let state = Mutex(State())

    init(waitingLimit: Int) {
        self.waitingLimit = waitingLimit
    }

    // MARK: For callers

    func post(_ order: FetchOrder) {
        let refusal = state.withLock { state -> FetchError? in
            if state.isClosed { return .closed }
            guard state.waiting.count < waitingLimit else {
                return FetchError(.queueFull, "\(waitingLimit) requests wait already")
            }
            state.waiting.append(order)
            Self.wake(state)
            return nil
        }
        if let refusal { order.completion(.failure(refusal)) }
    }

    /// Makes the thread look at what changed, such as a cancelled ticket.
    func wake() {
        state.withLock { Self.wake($0) }
    }

    func close() {
        state.withLock { state in
            state.isClosed = true
            Self.wake(state)
        }
    }

    func waitUntilEnded() async {
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                if !state.hasEnded { state.endWaiters.append(continuation) }
                return state.hasEnded
            }
            if isDone { continuation.resume() }
        }
    }

    // MARK: For the thread

    func began(_ multi: UnsafeMutableRawPointer) {
        state.withLock { $0.wake = Wake(multi: multi) }
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// The requests to begin now, at most `room`; those cancelled while they waited are told so.
    func take(_ room: Int) -> [FetchOrder] {
        let (orders, cancelled) = state.withLock { state -> ([FetchOrder], [FetchOrder]) in
            let cancelled = state.waiting.filter(\.ticket.isCancelled)
            if !cancelled.isEmpty { state.waiting.removeAll(where: \.ticket.isCancelled) }
            let orders = Array(state.waiting.prefix(room))
            state.waiting.removeFirst(orders.count)
            return (orders, cancelled)
        }
        for order in cancelled { order.completion(.failure(.cancelled)) }
        return orders
    }

    /// The thread ends; to be called before its handle is freed.
    func finish() {
        let (orders, waiters) = state.withLock { state in
            state.wake = nil
            state.isClosed = true
            state.hasEnded = true
            defer {
                state.waiting = []
                state.endWaiters = []
            }
            return (state.waiting, state.endWaiters)
        }
        for order in orders { order.completion(.failure(.closed)) }
        for waiter in waiters { waiter.resume() }
    }

    private static func wake(_ state: State) {
        if let wake = state.wake { curl_multi_wakeup(wake.multi) }
    }
}
