import Kernel
import NotificationContract
import Notifications

/// A job whose data was understood.
struct ParsedJob: Sendable {
    let job: LeasedJob
    let messageID: MessageID
    let content: NotificationJob
    let category: Category
    let enqueuedAt: Timestamp
    let due: Timestamp
    /// Whether its words are its own, and no producer of this platform vouches for them.
    let hasForeignWords: Bool

    var deadline: Timestamp { due + category.timeToLive }

    /// A claim for the weekly slots of this message.
    func capClaim(week: String, globalCap: Int) -> CapClaim {
        CapClaim(
            messageID: messageID,
            userID: content.userID,
            category: category.id,
            weekKey: week,
            categoryCap: category.maxPerWeek,
            globalCap: category.countsTowardGlobalCap ? globalCap : nil
        )
    }

    /// Claims for slots that an earlier run may have taken before it was cut short between gate 4 and its row, in a week that has
    /// since turned. Freeing what was never taken changes nothing.
    func strayClaims(beside week: String, globalCap: Int) -> [CapClaim] {
        guard job.attemptsStarted > 1 else { return [] }
        return WeekKey.neighbours(of: week).map { capClaim(week: $0, globalCap: globalCap) }
    }

    func event(
        _ kind: DeliveryEvent.Kind,
        at moment: Timestamp,
        attempt: Int = 0,
        gate: String? = nil,
        reason: String? = nil,
        device: String? = nil,
        detail: JSONValue? = nil
    ) -> DeliveryEvent {
        DeliveryEvent(
            kind: kind,
            messageID: messageID,
            userID: content.userID.rawValue,
            category: category.id.rawValue,
            jobID: job.id,
            attemptsStarted: job.attemptsStarted,
            attempt: attempt,
            at: moment,
            gate: gate,
            reason: reason,
            device: device,
            detail: marked(detail)
        )
    }

    /// Words that somebody else wrote into Redis are told by `literal` in every event of the message.
    private func marked(_ detail: JSONValue?) -> JSONValue? {
        guard hasForeignWords else { return detail }
        return .object((detail?.members ?? []) + [JSONMember("literal", true)])
    }
}

/// A message that passed every gate.
struct ApprovedJob: Sendable {
    let parsed: ParsedJob
    let recipient: Recipient
    /// The database's clock at the moment of judgement.
    let judgedAt: Timestamp
    /// When the recipients were read, on the monotonic clock.
    let readAt: ContinuousClock.Instant
    let capAnswer: CapAnswer?
    /// The week whose slots the message holds, or should: uncounted messages take theirs later.
    let weekKey: String?
}

/// A job whose end, or next run, is decided.
struct Conclusion: Sendable {
    let job: LeasedJob
    var record: DeliveryRecord
    var ending: JobEnding
    /// Slots to be freed once the record is written.
    var giveBack: [CapClaim] = []
    /// Tokens to be taken out of use before the record is written.
    var invalidations: [TokenInvalidation] = []
    /// What the daily numbers call it; `nil` for a job that comes back.
    var outcome: String?
    /// When the numbers and late events say it happened.
    var at: Timestamp

    /// The return value of a completed job.
    static func returnValue(outcome: String, reason: String?) -> String {
        var writer = JSONWriter(capacity: 64)
        writer.object { writer in
            writer.member("outcome", outcome)
            writer.name("reason")
            if let reason { writer.string(reason) } else { writer.null() }
        }
        return writer.text
    }

    /// How a job with a finished message ends in the queue: `failed` fails, everything else is done.
    static func ending(_ status: MessageStatus, reason: String?) -> JobEnding {
        status == .failed
            ? .failed(reason: reason ?? status.rawValue)
            : .completed(returnValue: returnValue(outcome: status.rawValue, reason: reason))
    }
}
