import Synchronization
import Testing

/// Opens once; those who wait go on then. Whoever waits for a minute goes on too, and the test has failed.
final class Latch: Sendable {
    private struct State {
        var isOpen = false
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var count = 0
    }

    private let state = Mutex(State())

    var isOpen: Bool { state.withLock(\.isOpen) }

    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter.resume() }
    }

    /// Not ended by the cancellation of its task: some handlers are to ignore theirs.
    func wait() async {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        let limit = Task.detached {
            try await Task.sleep(for: .seconds(60))
            guard let waiter = self.state.withLock({ $0.waiters.removeValue(forKey: number) }) else { return }
            Issue.record("nobody opened the latch")
            waiter.resume()
        }
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiters[number] = continuation }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
        limit.cancel()
    }
}

/// What handlers saw, in order.
final class Record<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])

    var all: [Element] { elements.withLock { $0 } }
    var count: Int { elements.withLock { $0.count } }

    /// - Returns: how many there are with this one.
    @discardableResult
    func add(_ element: Element) -> Int {
        elements.withLock { elements in
            elements.append(element)
            return elements.count
        }
    }
}

/// Looks again and again until the condition holds. The suite's time limit is the only other end.
func eventually(_ condition: () async throws -> Bool) async throws {
    while try await !condition() { try await Task.sleep(for: .milliseconds(3)) }
}
