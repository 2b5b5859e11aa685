import Synchronization

/// The places for jobs in flight. Taking waits until there is one; this is what holds back claiming.
final class SlotPool: Sendable {
    private struct State {
        var free: Int
        var waiter: CheckedContinuation<Void, Never>?
        var drainWaiter: CheckedContinuation<Void, Never>?
        var closed = false
    }

    let capacity: Int
    private let state: Mutex<State>

    init(capacity: Int) {
        self.capacity = capacity
        state = Mutex(State(free: capacity))
    }

    /// Places in use.
    var used: Int { state.withLock { capacity - $0.free } }

    /// Takes up to `limit` places, at least `minimum` of them, waiting until so many are free. One caller at a time.
    /// - Returns: how many were taken; 0 when the pool was closed.
    func take(atLeast minimum: Int, upTo limit: Int) async -> Int {
        while true {
            let taken: Int? = state.withLock { state in
                if state.closed { return 0 }
                guard state.free >= minimum else { return nil }
                let count = min(limit, state.free)
                state.free -= count
                return count
            }
            if let taken { return taken }
            await withCheckedContinuation { continuation in
                let goOn = state.withLock { state in
                    if state.closed || state.free >= minimum { return true }
                    state.waiter = continuation
                    return false
                }
                if goOn { continuation.resume() }
            }
        }
    }

    func release(_ count: Int) {
        let waiters = state.withLock { state in
            state.free += count
            var waiters = [state.waiter]
            state.waiter = nil
            if state.free == capacity {
                waiters.append(state.drainWaiter)
                state.drainWaiter = nil
            }
            return waiters
        }
        for waiter in waiters { waiter?.resume() }
    }

    /// Waits until every place is free. One caller at a time.
    func drained() async {
        await withCheckedContinuation { continuation in
            let isDrained = state.withLock { state in
                if state.free == capacity { return true }
                state.drainWaiter = continuation
                return false
            }
            if isDrained { continuation.resume() }
        }
    }

    /// Lets the waiting caller go with nothing.
    func close() {
        let waiter = state.withLock { state in
            state.closed = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }
}
