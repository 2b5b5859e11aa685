/// What the final failure of a child means for its parent. Without a rule the parent waits until the child was run again or
/// removed.
package enum ParentRule: String, Sendable, CaseIterable {
    /// The parent fails as well.
    case failParent = "fpof"
    /// The parent goes on at once, whatever its other children do.
    case continueParent = "cpof"
    /// The parent goes on when nothing else is pending, and can read the reason.
    case ignoreFailure = "idof"
    /// The parent goes on when nothing else is pending, and never hears of this child.
    case forgetChild = "rdof"
}

/// A job that others are bound to, in any queue of the same Redis.
package struct JobReference: Sendable, Equatable, Hashable {
    package let queue: QueueName
    package let id: String

    package init(queue: QueueName, id: String) {
        self.queue = queue
        self.id = id
    }

    /// The key of its hash, by which children are named.
    package var key: String { queue.keyPrefix + id }
}
