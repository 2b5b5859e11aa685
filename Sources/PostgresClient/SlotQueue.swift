import Kernel
import Synchronization

/// Hands out a fixed set of things in the order in which callers asked, with a limit and a deadline on waiting.
///
/// A caller either borrows a slot and gives it back, or leaves work behind that is done as soon as a slot is free. Work that waited
/// is taken up by the slot that has just become free, so that nobody needs to be woken in between.
final class SlotQueue<Slot: Sendable>: Sendable {
    /// Why a caller gets no slot.
    enum Refusal: Error, Sendable {
        case tooManyWaiters
        case timedOut
        case closed
    }

    /// What is to be done with a slot, or without one.
    typealias Work = @Sendable (Result<Slot, Refusal>) -> Void

    /// What waits for a slot.
    private enum Wish {
        case loan(CheckedContinuation<Result<Slot, Refusal>, Never>)
        case work(Work)

        func refuse(_ refusal: Refusal) {
            switch self {
            case .loan(let continuation): continuation.resume(returning: .failure(refusal))
            case .work(let work): work(.failure(refusal))
            }
        }
    }

    private struct Waiter {
        let wish: Wish
        let deadline: ContinuousClock.Instant
    }

    private struct State {
        var free: [Slot]
        var waiters = WaitingLine<Waiter>()
        var hasAlarm = false
        var closed = false
    }

    private let state: Mutex<State>
    private let maxWaiters: Int
    /// The longest wait. It is the same for everybody, so those who came first are also the first to give up.
    private let patience: Duration

    init(_ slots: [Slot], maxWaiters: Int, patience: Duration) {
        state = Mutex(State(free: slots))
        self.maxWaiters = maxWaiters
        self.patience = patience
    }

    var waiting: Int { state.withLock { $0.waiters.count } }

    /// Borrows a slot, to be given back with `giveBack`.
    func acquire() async throws(Refusal) -> Slot {
        let result = await withCheckedContinuation { continuation in
            if let slot = take(.loan(continuation)) { continuation.resume(returning: .success(slot)) }
        }
        return try result.get()
    }

    /// Leaves work behind, to be done with a slot or told why there is none.
    /// - Returns: a slot that is free now; then the work is not kept, and the caller sees to it.
    func submit(_ work: @escaping Work) -> Slot? {
        take(.work(work))
    }

    /// Gives a slot back: the first waiter has it next.
    /// - Returns: work that waited; the caller sees to it with this slot, which is not free again until it is given back anew.
    func giveBack(_ slot: Slot) -> Work? {
        let wish = state.withLock { state -> Wish? in
            guard let waiter = state.waiters.popFirst() else {
                state.free.append(slot)
                return nil
            }
            return waiter.wish
        }
        switch wish {
        case .loan(let continuation): continuation.resume(returning: .success(slot))
        case .work(let work): return work
        case nil: break
        }
        return nil
    }

    func close() {
        let waiters = state.withLock { state in
            state.closed = true
            return state.waiters.removeAll()
        }
        for waiter in waiters { waiter.wish.refuse(.closed) }
    }

    /// A free slot, or a place in the line.
    private func take(_ wish: Wish) -> Slot? {
        let deadline = ContinuousClock.now + patience
        let answer: Result<Slot?, Refusal> = state.withLock { state in
            if state.closed { return .failure(.closed) }
            if let slot = state.free.popLast() { return .success(slot) }
            guard state.waiters.count < maxWaiters else { return .failure(.tooManyWaiters) }
            state.waiters.append(Waiter(wish: wish, deadline: deadline))
            if !state.hasAlarm {
                state.hasAlarm = true
                // One alarm for all: a timer for each waiter would cost more than most statements.
                Task { [weak self] in await Self.watch(self) }
            }
            return .success(nil)
        }
        switch answer {
        case .success(let slot): return slot
        case .failure(let refusal):
            wish.refuse(refusal)
            return nil
        }
    }

    /// Sends away whoever waited too long, until nobody waits.
    private static func watch(_ queue: @autoclosure () -> SlotQueue?) async {
        while let next = queue()?.giveUp(now: .now) {
            do { try await ContinuousClock().sleep(until: next) } catch { return }
        }
    }

    /// - Returns: when to look again, `nil` when nobody waits.
    private func giveUp(now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        var late: [Waiter] = []
        let next = state.withLock { state -> ContinuousClock.Instant? in
            while let first = state.waiters.first, first.deadline <= now {
                late.append(first)
                _ = state.waiters.popFirst()
            }
            guard let first = state.waiters.first else {
                state.hasAlarm = false
                return nil
            }
            return first.deadline
        }
        for waiter in late { waiter.wish.refuse(.timedOut) }
        return next
    }
}

/// First in, first out, without moving what waits at every step.
struct WaitingLine<Element> {
    private var elements: [Element?] = []
    private var head = 0

    var count: Int { elements.count - head }
    var first: Element? { head < elements.count ? elements[head] : nil }

    mutating func append(_ element: Element) {
        elements.append(element)
    }

    mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        let element = elements[head]
        elements[head] = nil
        head += 1
        // The emptied front goes when it is the larger part.
        if head > 32, head * 2 > elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }

    mutating func removeAll() -> [Element] {
        defer {
            elements = []
            head = 0
        }
        return elements[head...].compactMap { $0 }
    }
}
