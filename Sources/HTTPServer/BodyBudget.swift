import Synchronization

/// The bytes of request bodies that a server holds at once, over all connections: what strangers send must not fill the memory.
final class BodyBudget: Sendable {
    private let limit: Int
    private let used = Atomic<Int>(0)

    init(limit: Int) {
        self.limit = limit
    }

    /// Takes bytes out of the budget.
    /// - Returns: `false`, with nothing taken, when it does not hold so many.
    func take(_ bytes: Int) -> Bool {
        if used.wrappingAdd(bytes, ordering: .relaxed).newValue <= limit { return true }
        used.wrappingSubtract(bytes, ordering: .relaxed)
        return false
    }

    func giveBack(_ bytes: Int) {
        if bytes > 0 { used.wrappingSubtract(bytes, ordering: .relaxed) }
    }

    /// Bytes that are taken now.
    var inUse: Int { used.load(ordering: .relaxed) }
}
