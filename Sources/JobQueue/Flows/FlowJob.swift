/// A job with the jobs that must end before it: a tree over queues of one Redis, added in one step.
package struct FlowJob: Sendable {
    /// `nil` for the queue that adds the tree. On a cluster all queues of a tree need the same tag.
    package let queue: QueueName?
    package let job: NewJob
    package let children: [FlowJob]

    package init(_ job: NewJob, queue: QueueName? = nil, children: [FlowJob] = []) {
        self.job = job
        self.queue = queue
        self.children = children
    }
}

/// What became of the jobs of a tree.
package struct AddedFlow: Sendable, Equatable {
    package let queue: QueueName
    package let result: AddResult
    package let children: [AddedFlow]
}

/// What a parent knows of its children. Jobs are named by their keys, as `bull:queue:id`.
package struct FlowChildren: Sendable, Equatable {
    /// Not ended yet, or failed without a rule.
    package var pending: Set<String> = []
    /// Return values as JSON text.
    package var completed: [String: String] = [:]
    /// Reasons of those whose failure the parent goes on without.
    package var passedOver: [String: String] = [:]
    /// Those whose failure makes the parent fail.
    package var fatal: [String] = []
}
