package import Kernel
package import Notifications

/// What one run of a message came to, worked out from what its devices answered. Pure, so that every combination is a test.
package struct RunResult: Sendable, Equatable {
    /// Where the message goes from here.
    package enum Step: Sendable, Equatable {
        /// The job is over.
        case end(MessageStatus, reason: String?)
        /// The job comes back; the row keeps the given status meanwhile.
        case again(after: Duration, countsAttempt: Bool, status: MessageStatus, reason: String?)
    }

    /// All that is known of every device after this run.
    package let deliveries: [Int64: DeviceDelivery]
    package let step: Step

    /// - Parameters:
    ///   - before: what earlier runs left.
    ///   - answers: what the devices of this run answered.
    ///   - began: a moment before the first of them was sent to.
    ///   - remaining: how long the message is still welcome.
    ///   - claims: how often the job was taken.
    ///   - mayGoOn: whether it may be taken again.
    package init(
        before: [Int64: DeviceDelivery],
        answers: [Int64: SendResult],
        began: Timestamp,
        policy: AttemptPolicy,
        remaining: Duration,
        claims: Int,
        mayGoOn: Bool = true,
        using generator: inout some RandomNumberGenerator
    ) {
        var deliveries = before
        var waits: [Duration] = []
        var counts = false
        for (device, answer) in answers.sorted(by: { $0.key < $1.key }) {
            let earlier = before[device]
            let merged = Self.merge(earlier, answer, began: began, limit: policy.limit)
            deliveries[device] = merged
            guard merged.isOutstanding(limit: policy.limit) else { continue }
            switch answer {
            case .throttled(_, let after), .notSent(_, let after):
                waits.append(after ?? policy.outageDelay(claims: claims, using: &generator))
            default:
                counts = true
                let base = policy.delay(afterAttempts: merged.attempts, using: &generator)
                waits.append(max(base, answer.retryAfter ?? .zero))
            }
        }
        let wait = waits.max() ?? .zero
        let outstanding = deliveries.values.contains { $0.isOutstanding(limit: policy.limit) }
        let accepted = deliveries.values.contains { $0.state == .accepted }
        let lastReason = Self.reason(of: deliveries)
        self.deliveries = deliveries
        if outstanding, wait < remaining, mayGoOn {
            step = .again(
                after: wait,
                countsAttempt: counts,
                status: accepted ? .sent : .pending,
                reason: accepted ? nil : lastReason
            )
        } else if accepted {
            step = .end(.sent, reason: nil)
        } else if deliveries.values.contains(where: { $0.state == .unknown }) {
            step = .end(.unknown, reason: lastReason)
        } else if outstanding, wait >= remaining {
            step = .end(.expired, reason: "expired")
        } else {
            step = .end(.failed, reason: lastReason ?? "no_device")
        }
    }

    private static func merge(
        _ earlier: DeviceDelivery?,
        _ answer: SendResult,
        began: Timestamp,
        limit: Int
    ) -> DeviceDelivery {
        let attempts = earlier?.attempts ?? 0
        return switch answer {
        case .accepted: DeviceDelivery(state: .accepted, attempts: attempts + 1)
        // What may have arrived once stays so: a later refusal does not prove that it did not. It ends the attempts, though.
        case .dead(let reason, _), .rejected(let reason):
            earlier?.state == .unknown
                ? DeviceDelivery(state: .unknown, attempts: max(attempts + 1, limit), reason: reason)
                : DeviceDelivery(
                    state: .dead,
                    attempts: attempts + 1,
                    reason: reason,
                    goneBefore: answer.goneBefore(began: began)
                )
        case .retry(let reason, _):
            DeviceDelivery(
                state: earlier?.state == .unknown ? .unknown : .retry,
                attempts: attempts + 1,
                reason: reason
            )
        case .unknown(let reason): DeviceDelivery(state: .unknown, attempts: attempts + 1, reason: reason)
        case .throttled(let reason, _), .notSent(let reason, _):
            DeviceDelivery(state: earlier?.state ?? .retry, attempts: attempts, reason: reason)
        }
    }

    private static func reason(of deliveries: [Int64: DeviceDelivery]) -> String? {
        deliveries.sorted { $0.key < $1.key }.compactMap(\.value.reason).first
    }
}

extension DeviceDelivery {
    /// Whether this device is to be tried again, given how many answered attempts it has.
    package func isOutstanding(limit: Int) -> Bool {
        (state == .retry || state == .unknown) && attempts < limit
    }
}

extension SendResult {
    /// Tokens registered before this moment are gone; `nil` when the answer does not say that.
    fileprivate func goneBefore(began: Timestamp) -> Timestamp? {
        guard case .dead(_, let moment) = self else { return nil }
        return moment ?? began
    }

    /// The waiting time the provider asked for.
    package var retryAfter: Duration? {
        switch self {
        case .retry(_, let after), .throttled(_, let after), .notSent(_, let after): after
        case .accepted, .dead, .rejected, .unknown: nil
        }
    }

    /// The provider's reason, `nil` for acceptance.
    package var reason: String? {
        switch self {
        case .accepted: nil
        case .dead(let reason, _), .rejected(let reason), .retry(let reason, _), .throttled(let reason, _),
            .unknown(let reason), .notSent(let reason, _):
            reason
        }
    }
}
