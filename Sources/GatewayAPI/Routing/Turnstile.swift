import Synchronization

/// Lets a few callers through at a time and the others in the order they came, where many at once would only hold more memory and
/// be no faster.
final class Turnstile: Sendable {
    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    /// - Parameter places: how many may be inside at once.
    init(places: Int) {
        state = Mutex(State(free: places))
    }

    /// Runs `body` when there is a place.
    /// - Throws: what `body` throws, or `CancellationError` when the caller was cancelled while it waited.
    func pass<Value>(_ body: () async throws -> Value) async throws -> Value {
        await enter()
        defer { leave() }
        try Task.checkCancellation()
        return try await body()
    }

    private func enter() async {
        await withCheckedContinuation { continuation in
            let isIn = state.withLock { state in
                guard state.free == 0 else {
                    state.free -= 1
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if isIn { continuation.resume() }
        }
    }

    private func leave() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard !state.waiting.isEmpty else {
                state.free += 1
                return nil
            }
            // The place passes from hand to hand.
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}
