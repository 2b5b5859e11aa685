import Kernel

/// A push on its way: what to send, whom to tell, and what it has been through.
struct PendingPush: Sendable {
    /// The part that never changes, shared so that moving a push between queue and stream copies no more than a reference.
    final class Order: Sendable {
        let request: PushRequest
        /// The normalised device token.
        let deviceToken: String
        let topic: String
        let submittedAt: ContinuousClock.Instant
        let completion: @Sendable (PushOutcome) -> Void

        /// What it counts for in limits of memory, in bytes.
        var weight: Int { request.payload.count }

        init(
            request: PushRequest,
            deviceToken: String,
            topic: String,
            submittedAt: ContinuousClock.Instant,
            completion: @escaping @Sendable (PushOutcome) -> Void
        ) {
            self.request = request
            self.deviceToken = deviceToken
            self.topic = topic
            self.submittedAt = submittedAt
            self.completion = completion
        }
    }

    let order: Order
    /// How often it was sent again because it provably had not been processed.
    var resends = 0
    /// How often it was sent again after an answer that asks for another connection.
    var moves = 0
}

/// Pushes that wait for a stream, oldest first. Taking from the front does not move the rest.
struct WaitingLine: Sendable {
    private var slots: [PendingPush?] = []
    private var head = 0
    /// The bodies of those that wait.
    private(set) var bytes = 0

    var count: Int { slots.count - head }
    var isEmpty: Bool { count == 0 }
    var first: PendingPush? { isEmpty ? nil : slots[head] }

    mutating func append(_ push: PendingPush) {
        bytes += push.order.weight
        slots.append(push)
    }

    /// Puts a push that was sent in vain back to the front.
    mutating func putBack(_ push: PendingPush) {
        bytes += push.order.weight
        if head > 0 {
            head -= 1
            slots[head] = push
        } else {
            slots.insert(push, at: 0)
        }
    }

    mutating func takeFirst() -> PendingPush? {
        guard !isEmpty else { return nil }
        let push = slots[head]
        bytes -= push?.order.weight ?? 0
        slots[head] = nil
        head += 1
        if head == slots.count {
            slots.removeAll(keepingCapacity: true)
            head = 0
        } else if head > 1024, head * 2 > slots.count {
            slots.removeFirst(head)
            head = 0
        }
        return push
    }

    /// Takes those that satisfy a condition; the rest keeps its order.
    mutating func takeAll(where isWanted: (PendingPush) -> Bool) -> [PendingPush] {
        let all = takeAll()
        for push in all where !isWanted(push) { append(push) }
        return all.filter(isWanted)
    }

    mutating func takeAll() -> [PendingPush] {
        let all = slots[head...].compactMap { $0 }
        slots = []
        head = 0
        bytes = 0
        return all
    }
}
