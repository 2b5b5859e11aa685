package import Kernel

/// How many messages of a category ended how.
package struct OutcomeCount: Hashable, Sendable {
    package let category: String
    package let outcome: String

    package init(category: String, outcome: String) {
        self.category = category
        self.outcome = outcome
    }
}

/// Daily numbers per category and outcome.
package protocol StatisticsCounting: Sendable {
    /// Adds to the numbers of a day. A failure is counted and logged by the adapter, never thrown: numbers hold up no push.
    func add(_ counts: [OutcomeCount: Int], at moment: Timestamp) async
}
