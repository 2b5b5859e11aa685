import Kernel
import Synchronization

/// Hands out a fixed set of things in the order in which callers asked, with a limit and a deadline on waiting.
final class SlotQueue<Slot: Sendable>: Sendable {
    enum Answer: Sendable {
        case slot(Slot)
        case tooManyWaiters
        case timedOut
        case closed
    }

    private struct Waiter {
        let id: Int
        let continuation: CheckedContinuation<Answer, Never>
        let alarm: Task<Void, Never>

        func resume(returning answer: Answer) {
            alarm.cancel()
            continuation.resume(returning: answer)
        }
    }

    private struct State {
        var free: [Slot]
        var waiters: [Waiter] = []
        var nextID = 0
        var closed = false
    }

    private let state: Mutex<State>
    private let maxWaiters: Int

    init(_ slots: [Slot], maxWaiters: Int) {
        state = Mutex(State(free: slots))
        self.maxWaiters = maxWaiters
    }

    var waiting: Int { state.withLock { $0.waiters.count } }

    func acquire(within limit: Duration) async -> Answer {
        if let answer = state.withLock({ immediateAnswer(&$0) }) { return answer }
        return await withCheckedContinuation { continuation in
            let answer: Answer? = state.withLock { state in
                if let answer = immediateAnswer(&state) { return answer }
                state.nextID += 1
                let id = state.nextID
                let alarm = Task { [weak self] in
                    // A cancelled sleep means that the waiter was served.
                    guard (try? await ContinuousClock().sleep(for: limit)) != nil else { return }
                    self?.giveUp(id)
                }
                state.waiters.append(Waiter(id: id, continuation: continuation, alarm: alarm))
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    func release(_ slot: Slot) {
        let waiter = state.withLock { state -> Waiter? in
            guard !state.waiters.isEmpty else {
                state.free.append(slot)
                return nil
            }
            return state.waiters.removeFirst()
        }
        waiter?.resume(returning: .slot(slot))
    }

    func close() {
        let waiters = state.withLock { state in
            state.closed = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: .closed) }
    }

    private func immediateAnswer(_ state: inout State) -> Answer? {
        if state.closed { return .closed }
        if let slot = state.free.popLast() { return .slot(slot) }
        return state.waiters.count >= maxWaiters ? .tooManyWaiters : nil
    }

    private func giveUp(_ id: Int) {
        let waiter = state.withLock { state -> Waiter? in
            guard let index = state.waiters.firstIndex(where: { $0.id == id }) else { return nil }
            return state.waiters.remove(at: index)
        }
        waiter?.resume(returning: .timedOut)
    }
}
