import Synchronization

/// The request to stop, which long-lived tasks await or ask for.
///
/// Stopping is not cancellation: a task that sees it takes no new work, finishes what it holds and returns. Cancellation
/// comes only when the stop deadline has passed.
package final class StopSignal: Sendable {
    private struct State {
        var reason: String?
        var nextID = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var handlers: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// Whether a stop was requested.
    package var isRequested: Bool { reason != nil }

    /// Why the stop was requested, such as `SIGTERM`.
    package var reason: String? { state.withLock { $0.reason } }

    /// Requests the stop. Only the first request counts.
    package func request(reason: String) {
        let woken = state.withLock {
            state -> (waiters: [CheckedContinuation<Void, Never>], handlers: [@Sendable () -> Void]) in
            guard state.reason == nil else { return ([], []) }
            state.reason = reason
            defer {
                state.waiters = [:]
                state.handlers = []
            }
            return (Array(state.waiters.values), state.handlers)
        }
        // Outside the lock, so that a handler may use the signal again.
        for waiter in woken.waiters { waiter.resume() }
        for handler in woken.handlers { handler() }
    }

    /// Calls the handler when the stop is requested, at once when it was already. It must return quickly.
    package func onRequest(_ handler: @escaping @Sendable () -> Void) {
        let callNow = state.withLock { state in
            if state.reason == nil { state.handlers.append(handler) }
            return state.reason != nil
        }
        if callNow { handler() }
    }

    /// Returns when the stop is requested or the task is cancelled.
    package func wait() async {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goOn = state.withLock { state in
                    // Cancellation either came before, which this sees, or comes after and finds the waiter.
                    if state.reason != nil || Task.isCancelled { return true }
                    state.waiters[id] = continuation
                    return false
                }
                if goOn { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
        }
    }

    /// Sleeps, and wakes early when the stop is requested.
    /// - Returns: whether to go on: `false` when the stop was requested or the task was cancelled.
    package func sleep(for duration: Duration, clock: any Clock<Duration> = ContinuousClock()) async -> Bool {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.wait() }
            group.addTask {
                do {
                    try await clock.sleep(for: duration)
                } catch {
                    return  // Cancelled: the answer below says so.
                }
            }
            await group.next()
            group.cancelAll()
        }
        return !isRequested && !Task.isCancelled
    }
}
