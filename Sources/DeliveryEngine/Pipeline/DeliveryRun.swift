import Kernel
import Notifications

/// One attempt to deliver one message, from the moment its devices are chosen.
struct DeliveryRun: Sendable {
    let job: ApprovedJob
    let plan: DevicePlan
    let configuration: EngineConfiguration

    private var parsed: ParsedJob { job.parsed }
    private var wasSent: Bool { job.recipient.stored?.status == .sent }

    /// What the devices' answers come to.
    func conclusion(answers: [Int64: SendResult]) -> Conclusion {
        let now = job.judgedAt + job.readAt.duration(to: .now)
        let limit = parsed.job.attemptsLimit ?? configuration.attemptsPerDevice
        var generator = SystemRandomNumberGenerator()
        let result = RunResult(
            before: plan.before,
            answers: answers,
            began: job.judgedAt,
            policy: AttemptPolicy(limit: limit),
            remaining: parsed.deadline - now,
            claims: parsed.job.attemptsStarted,
            mayGoOn: !StartLimit(limit: configuration.claimLimit).isExceeded(
                claims: parsed.job.attemptsStarted + 1,
                age: now - parsed.due
            ),
            using: &generator
        )
        var record = DeliveryRecord(
            messageID: parsed.messageID,
            userID: parsed.content.userID.rawValue,
            category: parsed.category.id,
            deliveries: result.deliveries,
            acceptedAt: answers.values.contains(.accepted) ? now : nil,
            events: parsed.firstRunEvents(now: now) + deviceEvents(answers, result: result, limit: limit, now: now)
        )
        let ending: JobEnding
        var outcome: String?
        switch result.step {
        case .again(let after, let countsAttempt, let status, let reason):
            record.status = status
            record.reason = reason
            ending = .again(at: now + after, countsAttempt: countsAttempt, reason: reason)
            // A message counts as sent once: when its first device took it.
            if status == .sent, !wasSent { outcome = status.rawValue }
        case .end(let status, let reason):
            record.status = status
            record.reason = reason
            ending = Conclusion.ending(status, reason: reason)
            if !(status == .sent && wasSent) { outcome = status.rawValue }
            if status != .sent, !record.events.contains(where: { $0.kind == DeliveryEvent.Kind(status) }) {
                record.events.append(parsed.event(DeliveryEvent.Kind(status), at: now, gate: "send", reason: reason))
            }
        }
        return Conclusion(
            job: parsed.job,
            record: record,
            ending: ending,
            giveBack: freedSlots(result),
            invalidations: invalidations(answers),
            outcome: outcome,
            at: now
        )
    }

    /// The slot is free again only when no device took the message and none may have. One that an earlier run took in another
    /// week, without getting as far as its row, is free in any case.
    private func freedSlots(_ result: RunResult) -> [CapClaim] {
        guard case .end(let status, _) = result.step else { return [] }
        let own = status == .failed || status == .expired ? job.weekKey : nil
        return parsed.strayClaims(
            beside: job.weekKey ?? job.recipient.weekKey,
            globalCap: configuration.globalWeeklyCap
        )
            + (own.map { [parsed.capClaim(week: $0, globalCap: configuration.globalWeeklyCap)] } ?? [])
    }

    private func invalidations(_ answers: [Int64: SendResult]) -> [TokenInvalidation] {
        let began = job.judgedAt
        return plan.devices.compactMap { device in
            guard case .dead(let reason, let moment) = answers[device.id] else { return nil }
            return TokenInvalidation(
                deviceRowID: device.id,
                userID: parsed.content.userID,
                token: device.token,
                registeredBefore: moment ?? began,
                reason: reason
            )
        }
    }

    private func deviceEvents(
        _ answers: [Int64: SendResult],
        result: RunResult,
        limit: Int,
        now: Timestamp
    ) -> [DeliveryEvent] {
        plan.devices.compactMap { device in
            guard let answer = answers[device.id] else { return nil }
            let delivery = result.deliveries[device.id]
            let isOutstanding = delivery?.isOutstanding(limit: limit) ?? false
            let kind: DeliveryEvent.Kind
            switch answer {
            case .accepted: kind = .sent
            case .dead, .rejected: kind = .failed
            case .unknown: kind = .unknown
            case .retry, .throttled, .notSent: kind = isOutstanding ? .retrying : .failed
            }
            let milliseconds = (now - job.judgedAt).milliseconds
            return parsed.event(
                kind,
                at: now,
                attempt: delivery?.attempts ?? 0,
                gate: kind == .sent ? nil : "send",
                reason: answer.reason,
                device: "\(device.id):\(device.token.prefix(8))…",
                detail: ["sendMilliseconds": .integer(milliseconds)]
            )
        }
    }
}
