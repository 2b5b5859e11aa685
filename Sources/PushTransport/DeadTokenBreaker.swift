/// One breaker a topic: a mix-up of one app says nothing of another one's tokens.
struct DeadTokenBreakers: Sendable {
    /// Further topics share one breaker.
    private static let limit = 64

    private let limits: DeadTokenBreaker.Limits
    private var byTopic: [String: DeadTokenBreaker] = [:]

    init(limits: DeadTokenBreaker.Limits) {
        self.limits = limits
    }

    /// Notes an answer of the provider about a token of this topic.
    mutating func note(isBad: Bool, topic: String) -> DeadTokenBreaker.Change {
        byTopic[key(topic), default: DeadTokenBreaker(limits: limits)].note(isBad: isBad)
    }

    /// Whether tokens of this topic are not believed dead.
    func isOpen(_ topic: String) -> Bool { byTopic[key(topic)]?.isOpen ?? false }

    /// The topics whose tokens are not believed dead, in order.
    var open: [String] { byTopic.filter { $0.value.isOpen }.keys.sorted() }

    private func key(_ topic: String) -> String {
        byTopic[topic] != nil || byTopic.count < Self.limit ? topic : ""
    }
}

/// Watches the share of answers that call tokens bad. A mix-up of sandbox and production, or of two apps, makes every token
/// bad at once; believing it would empty the device table.
struct DeadTokenBreaker: Sendable {
    struct Limits: Sendable {
        /// How many of the newest answers are looked at.
        var window = 200
        /// Fewer bad answers than this never open it.
        var minimum = 50
        /// It opens above this share of the window, and closes again below half of it.
        var share = 0.5
    }

    /// What an answer changed.
    enum Change: Equatable { case none, opened, closed }

    private let limits: Limits
    private var answers: [Bool] = []
    private var next = 0
    private var bad = 0
    /// While open, no token is called dead.
    private(set) var isOpen = false

    init(limits: Limits) {
        self.limits = limits
        answers.reserveCapacity(limits.window)
    }

    /// Notes an answer of the provider.
    mutating func note(isBad: Bool) -> Change {
        if answers.count < limits.window {
            answers.append(isBad)
        } else {
            if answers[next] { bad -= 1 }
            answers[next] = isBad
            next = (next + 1) % limits.window
        }
        if isBad { bad += 1 }
        let share = Double(bad) / Double(answers.count)
        if !isOpen, bad >= limits.minimum, share > limits.share {
            isOpen = true
            return .opened
        }
        if isOpen, share < limits.share / 2 {
            isOpen = false
            return .closed
        }
        return .none
    }
}
