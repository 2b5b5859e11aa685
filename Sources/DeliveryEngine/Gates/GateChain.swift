package import Kernel
import Notifications

/// The gates before the weekly caps, in their order. The caps come after, because they take something.
package enum GateChain {
    package static let gates: [Gate] = [cancelled, expired, permission, silence, category, window]

    /// The first answer that is not `proceed`, with the gate that gave it.
    package static func judge(_ candidate: GateCandidate, now: Timestamp) -> (gate: String, answer: GateAnswer)? {
        for gate in gates {
            let answer = gate.judge(candidate, now)
            if answer != .proceed { return (gate.name, answer) }
        }
        return nil
    }

    /// Gate 0: the message was called back after it was queued.
    static let cancelled = Gate(name: "cancelled") { candidate, _ in
        guard let reason = candidate.recipient.cancellationReason else { return .proceed }
        return .drop(status: .cancelled, reason: reason)
    }

    /// The notification is past its time to live, counted from the moment it was meant for.
    static let expired = Gate(name: "expired") { candidate, now in
        now < candidate.deadline ? .proceed : .drop(status: .expired, reason: "expired")
    }

    /// Gate 1: the user allows pushes and a usable token exists.
    static let permission = Gate(name: "permission") { candidate, _ in
        candidate.recipient.isPermissionGranted && !candidate.recipient.devices.isEmpty
            ? .proceed : .drop(status: .suppressed, reason: "permission")
    }

    /// Gate 2: no quiet week, for any category.
    static let silence = Gate(name: "silence") { candidate, now in
        guard let end = candidate.recipient.silenceUntil, end > now else { return .proceed }
        return .drop(status: .suppressed, reason: "silence")
    }

    /// Gate 3: the user has the category on; not asked for categories that cannot be switched off, nor for a test.
    static let category = Gate(name: "category") { candidate, _ in
        guard candidate.category.isUserToggleable, !candidate.isTest else { return .proceed }
        return candidate.recipient.categorySwitch ?? candidate.category.isEnabledByDefault
            ? .proceed : .drop(status: .suppressed, reason: "category_off")
    }

    /// The category's local hours. A deferral spreads messages by their id, so that a second run makes the same choice.
    static let window = Gate(name: "window") { candidate, now in
        guard let window = candidate.category.window, !window.contains(localMinute: candidate.recipient.localMinute)
        else {
            return .proceed
        }
        guard case .defer(let jitter) = window.outside else {
            return .drop(status: .expired, reason: "outside_window")
        }
        guard let opening = candidate.recipient.nextOpening, opening < candidate.deadline else {
            return .drop(status: .expired, reason: "expired")
        }
        let spread = Int64(candidate.messageID.bits.low % UInt64(max(jitter.milliseconds, 1)))
        let until = Timestamp(milliseconds: opening.milliseconds + spread)
        return .defer(until: min(until, candidate.deadline - .milliseconds(1)))
    }
}
