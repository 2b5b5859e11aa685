import Synchronization

/// A queue between tasks that holds at most `capacity` elements: a sender waits while it is full, a receiver while it is
/// empty. It is the back pressure between the stages of a pipeline.
package final class BoundedChannel<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var senders: [CheckedContinuation<Void, Never>] = []
        var receivers: [CheckedContinuation<Void, Never>] = []
        var finished = false
    }

    private let capacity: Int
    private let state = Mutex(State())

    package init(capacity: Int) {
        self.capacity = capacity
    }

    /// How many elements wait.
    package var count: Int { state.withLock { $0.elements.count } }

    /// Adds an element, waiting for room.
    /// - Returns: `false` when the channel is finished and the element was not taken.
    @discardableResult
    package func send(_ element: Element) async -> Bool {
        while true {
            let accepted: Bool? = state.withLock { state in
                if state.finished { return false }
                guard state.elements.count < capacity else { return nil }
                state.elements.append(element)
                Self.wake(&state.receivers)
                return true
            }
            if let accepted { return accepted }
            await withCheckedContinuation { continuation in
                let goOn = state.withLock { state in
                    if state.finished || state.elements.count < capacity { return true }
                    state.senders.append(continuation)
                    return false
                }
                if goOn { continuation.resume() }
            }
        }
    }

    /// Adds an element at once, beyond the capacity if need be: for senders that cannot wait and are bounded elsewhere.
    package func offer(_ element: Element) {
        state.withLock { state in
            state.elements.append(element)
            Self.wake(&state.receivers)
        }
    }

    /// Takes up to `limit` of the oldest elements without waiting.
    package func takeAvailable(upTo limit: Int) -> [Element] {
        state.withLock { state in
            let count = min(limit, state.elements.count)
            let head = Array(state.elements.prefix(count))
            state.elements.removeFirst(count)
            Self.wake(&state.senders)
            return head
        }
    }

    /// Takes the oldest element, waiting for one.
    /// - Returns: `nil` once the channel is finished and empty.
    package func receive() async -> Element? {
        await receive(upTo: 1).first
    }

    /// Takes up to `limit` of the oldest elements, waiting for at least one.
    /// - Returns: an empty list once the channel is finished and empty.
    package func receive(upTo limit: Int) async -> [Element] {
        while true {
            let taken: [Element]? = state.withLock { state in
                if state.elements.isEmpty { return state.finished ? [] : nil }
                let count = min(limit, state.elements.count)
                let head = Array(state.elements.prefix(count))
                state.elements.removeFirst(count)
                Self.wake(&state.senders)
                return head
            }
            if let taken { return taken }
            await withCheckedContinuation { continuation in
                let goOn = state.withLock { state in
                    if state.finished || !state.elements.isEmpty { return true }
                    state.receivers.append(continuation)
                    return false
                }
                if goOn { continuation.resume() }
            }
        }
    }

    /// Ends the channel: what waits is still delivered, new elements are refused.
    package func finish() {
        let waiting = state.withLock { state in
            state.finished = true
            defer {
                state.senders = []
                state.receivers = []
            }
            return state.senders + state.receivers
        }
        for continuation in waiting { continuation.resume() }
    }

    private static func wake(_ continuations: inout [CheckedContinuation<Void, Never>]) {
        let waiting = continuations
        continuations = []
        for continuation in waiting { continuation.resume() }
    }
}
