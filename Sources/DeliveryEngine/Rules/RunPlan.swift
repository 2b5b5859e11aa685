import Kernel
import NotificationContract
import Notifications

/// What a run of a job is to do, given what is known of its user and of earlier runs. Pure.
enum RunPlan: Equatable {
    /// The message is over; `gate` names who decided.
    case conclude(MessageStatus, reason: String?, gate: String?)
    case deferred(until: Timestamp)
    /// It is to be sent; `needsSlot` says whether weekly slots must be taken first.
    case deliver(needsSlot: Bool)

    init(job: ParsedJob, recipient: Recipient, now: Timestamp, claimLimit: Int, attemptLimit: Int) {
        let stored = recipient.stored
        if let stored, stored.userID != job.content.userID.rawValue || stored.category != job.category.id.rawValue {
            self = .conclude(.failed, reason: "id_collision", gate: "identity")
            return
        }
        if let stored, let finished = Self.finished(stored, job: job, now: now, attemptLimit: attemptLimit) {
            self = finished
            return
        }
        if job.job.deferredFailure != nil {
            self = Self.conclude(stored, otherwise: .failed, reason: "stalled", gate: "queue")
            return
        }
        if StartLimit(limit: claimLimit).isExceeded(claims: job.job.attemptsStarted, age: now - job.due) {
            self = Self.conclude(stored, otherwise: .failed, reason: "stalled", gate: "queue")
            return
        }
        if stored?.status == .sent {
            self = .deliver(needsSlot: false)
            return
        }
        let candidate = GateCandidate(
            category: job.category,
            messageID: job.messageID,
            due: job.due,
            recipient: recipient,
            isTest: job.content.isTest
        )
        guard let (gate, answer) = GateChain.judge(candidate, now: now) else {
            // A test takes no slot.
            self = .deliver(
                needsSlot: !job.content.isTest && !(stored?.status == .pending && stored?.passedCaps == true)
            )
            return
        }
        switch answer {
        case .proceed: self = .deliver(needsSlot: true)
        case .defer(let until):
            self =
                stored?.arrival == nil
                ? .deferred(until: until) : Self.conclude(stored, otherwise: .unknown, reason: gate, gate: gate)
        case .drop(let status, let reason):
            self = Self.conclude(stored, otherwise: status, reason: reason, gate: gate)
        }
    }

    private static func conclude(
        _ stored: StoredMessage?,
        otherwise status: MessageStatus,
        reason: String,
        gate: String
    ) -> RunPlan {
        let end = MessageEnd(stored, otherwise: status, reason: reason, gate: gate)
        return .conclude(end.status, reason: end.reason, gate: end.gate)
    }

    /// The plan for a message whose row says that it is over, or nearly.
    private static func finished(
        _ stored: StoredMessage,
        job: ParsedJob,
        now: Timestamp,
        attemptLimit: Int
    ) -> RunPlan? {
        switch stored.status {
        case .pending, .failed: return nil
        case .unknown, .expired, .suppressed, .cancelled:
            return .conclude(stored.status, reason: stored.reason, gate: nil)
        case .sent:
            let outstanding = stored.deliveries.values.contains { $0.isOutstanding(limit: attemptLimit) }
            return outstanding && now < job.deadline ? nil : .conclude(.sent, reason: nil, gate: nil)
        }
    }
}

/// How a message ends that goes no further. What arrived, or may have, is not unsaid by whatever refuses it now.
struct MessageEnd {
    let status: MessageStatus
    let reason: String?
    let gate: String?

    init(_ stored: StoredMessage?, otherwise status: MessageStatus, reason: String, gate: String) {
        let arrival = stored?.arrival
        self.status = arrival ?? status
        self.reason = arrival == .sent ? nil : reason
        self.gate = arrival == .sent ? nil : gate
    }
}
