import Kernel
import NotificationBus
import NotificationContract
import Notifications

/// Reads a job's data. What cannot be read ends at once, with a reason, and spoils nothing for the rest of its group.
struct JobIntake: Sendable {
    let registry: CategoryRegistry
    let parser: NotificationParser
    let identity: MessageIdentity
    let claimLimit: Int
    /// Whether jobs with their own words are taken from whoever can write into Redis.
    let acceptsLiteralText: Bool
    /// Tells those of this platform's producers from others; `nil` where all count as others.
    let voucher: JobVoucher?

    /// A job that was understood, or the conclusion of one that never will be.
    enum Reading {
        case parsed(ParsedJob)
        case refused(Conclusion)
    }

    func read(_ job: LeasedJob, now: Timestamp) -> Reading {
        guard let timestamp = job.timestamp, timestamp.milliseconds >= 0,
            timestamp + job.delay <= now + NotificationLimits.horizon
        else { return .refused(refusal(job, value: nil, reason: "invalid_timestamp", message: nil, now: now)) }
        let value: JSONValue
        do {
            value = try JSONValue(parsing: job.data)
        } catch {
            let reason =
                ["a lone surrogate", "a NUL character"].contains(error.message) ? "invalid_text" : "invalid_data"
            return .refused(refusal(job, value: nil, reason: reason, message: error.description, now: now))
        }
        var content: NotificationJob
        let category: Category
        do {
            content = try parser.parse(value)
            // Read here alone: a request to the gateway cannot ask for it.
            content.isTest = value["test"]?.boolValue ?? false
            category = try registry.category(content.category)
        } catch let problems as FieldProblems {
            let reason = problems.problems.first?.reason ?? "invalid_data"
            return .refused(refusal(job, value: value, reason: reason, message: problems.description, now: now))
        } catch {
            return .refused(refusal(job, value: value, reason: "invalid_category", message: "\(error)", now: now))
        }
        var isForeign = false
        if case .literal = content.text {
            isForeign = voucher?.isVouched(job.data) != true
            if isForeign, !acceptsLiteralText {
                let message = "words that no producer of this platform vouches for are off (ACCEPT_LITERAL_JOBS)"
                return .refused(refusal(job, value: value, reason: "invalid_text", message: message, now: now))
            }
        }
        let due = timestamp + job.delay
        return .parsed(
            ParsedJob(
                job: job,
                messageID: identity.messageID(jobID: job.id, timestamp: timestamp, due: due),
                content: content,
                category: category,
                enqueuedAt: timestamp,
                due: due,
                hasForeignWords: isForeign
            )
        )
    }

    private func refusal(
        _ job: LeasedJob,
        value: JSONValue?,
        reason: String,
        message: String?,
        now: Timestamp
    ) -> Conclusion {
        let messageID = identity.messageID(jobID: job.id, timestamp: job.timestamp ?? now, due: now)
        // The job may name anything as its user; what an event can hold is kept.
        let user = value?["userId"]?.stringValue.map { String($0.prefix(128)) } ?? ""
        let event = DeliveryEvent(
            kind: .failed,
            messageID: messageID,
            userID: user,
            category: value?["category"]?.stringValue.map { String($0.prefix(64)) },
            jobID: String(job.id.prefix(256)),
            attemptsStarted: job.attemptsStarted,
            attempt: 0,
            at: now,
            gate: "intake",
            reason: reason,
            detail: message.map { ["message": .string(String($0.prefix(500)))] }
        )
        return Conclusion(
            job: job,
            record: DeliveryRecord(messageID: messageID, userID: user, category: nil, events: [event]),
            ending: .failed(reason: message.map { "\(reason): \($0.prefix(500))" } ?? reason),
            outcome: "failed",
            at: now
        )
    }
}
