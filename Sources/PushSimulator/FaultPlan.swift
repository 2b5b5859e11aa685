import Synchronization

/// The faults in force. The first rule that strikes a push decides.
final class FaultPlan: Sendable {
    private struct Slot {
        var rule: FaultRule
        /// Pushes the rule looked at, for an even share.
        var seen = 0
        var struck = 0
    }

    /// More rules than this are refused: each costs every push a look.
    static let limit = 1000

    private let slots = Mutex<[Slot]>([])

    /// Adds rules behind the ones in force.
    /// - Returns: `false` when there would be too many; none is added then.
    func add(_ rules: [FaultRule]) -> Bool {
        slots.withLock { slots in
            guard slots.count + rules.count <= Self.limit else { return false }
            slots += rules.map { Slot(rule: $0) }
            return true
        }
    }

    func clear() {
        slots.withLock { $0 = [] }
    }

    /// How many rules are in force.
    var count: Int { slots.withLock { $0.count } }

    /// The rule that strikes this push, if one does.
    func strike(token: String) -> FaultRule? {
        slots.withLock { slots in
            for index in slots.indices {
                let rule = slots[index].rule
                if let wanted = rule.token, wanted != token { continue }
                if let prefix = rule.tokenPrefix, !token.hasPrefix(prefix) { continue }
                if let fraction = rule.fraction {
                    slots[index].seen += 1
                    guard Double(slots[index].struck + 1) <= Double(slots[index].seen) * fraction else { continue }
                }
                slots[index].struck += 1
                if let remaining = rule.remaining {
                    if remaining <= 1 {
                        slots.remove(at: index)
                    } else {
                        slots[index].rule.remaining = remaining - 1
                    }
                }
                return rule
            }
            return nil
        }
    }
}
