import Kernel
import Notifications

/// The second stage: reads the recipients of a group, asks the gates, and takes the weekly slots, in claim order.
struct Judge: Sendable {
    let ports: EnginePorts
    let globalCap: Int
    let claimLimit: Int
    let attemptsPerDevice: Int
    let metrics: EngineMetrics
    let checkpoint: Checkpoint.Hook

    struct Judgement {
        var approved: [ApprovedJob] = []
        var concluded: [Conclusion] = []
    }

    /// - Throws: when the store cannot be asked; no slot was taken then.
    func judge(_ jobs: [ParsedJob]) async throws -> Judgement {
        guard !jobs.isEmpty else { return Judgement() }
        let readAt = ContinuousClock.now
        let batch = try await ports.recipients.recipients(
            for: jobs.map { job in
                RecipientQuery(
                    messageID: job.messageID,
                    userID: job.content.userID,
                    category: job.category.id,
                    sourceEntityID: job.content.sourceEntityID,
                    enqueuedAt: job.enqueuedAt,
                    openingMinute: job.category.window?.opens
                )
            }
        )
        metrics.took(.read, since: readAt)
        var judgement = Judgement()
        var passed: [(job: ParsedJob, recipient: Recipient, needsSlot: Bool)] = []
        for (job, recipient) in zip(jobs, batch.recipients) {
            let limit = job.job.attemptsLimit ?? attemptsPerDevice
            switch RunPlan(job: job, recipient: recipient, now: batch.now, claimLimit: claimLimit, attemptLimit: limit)
            {
            case .conclude(let status, let reason, let gate):
                judgement.concluded.append(conclude(job, recipient, status, reason, gate: gate, now: batch.now))
            case .deferred(let until):
                judgement.concluded.append(deferral(job, recipient, until: until, now: batch.now))
            case .deliver(let needsSlot):
                passed.append((job, recipient, needsSlot))
            }
        }
        let claiming = passed.filter(\.needsSlot)
        try await forgetDebts(
            claiming.filter { $0.job.job.attemptsStarted > 1 || $0.recipient.stored != nil }.map {
                ($0.job, $0.recipient.weekKey)
            }
        )
        let asked = ContinuousClock.now
        let answers = await ports.caps.take(
            claiming.map { $0.job.capClaim(week: $0.recipient.weekKey, globalCap: globalCap) }
        )
        metrics.took(.caps, since: asked)
        checkpoint(.afterCaps)
        let answerByID = Dictionary(
            zip(claiming.map(\.job.messageID), answers),
            uniquingKeysWith: { first, _ in first }
        )
        for (job, recipient, needsSlot) in passed {
            let answer = needsSlot ? answerByID[job.messageID] ?? .uncounted : nil
            switch answer {
            case .categoryFull:
                judgement.concluded.append(
                    refuse(job, recipient, "cap_category", now: batch.now)
                )
            case .globalFull:
                judgement.concluded.append(
                    refuse(job, recipient, "cap_global", now: batch.now)
                )
            case .taken, .uncounted, nil:
                judgement.approved.append(
                    ApprovedJob(
                        parsed: job,
                        recipient: recipient,
                        judgedAt: batch.now,
                        readAt: readAt,
                        capAnswer: answer,
                        weekKey: answer == nil ? recipient.stored?.weekKey : recipient.weekKey
                    )
                )
            }
        }
        return judgement
    }

    /// A slot that an earlier run was to free, and could not, is the message's own again from here on.
    private func forgetDebts(_ repeated: [(job: ParsedJob, week: String)]) async throws {
        guard !repeated.isEmpty else { return }
        try await ports.slotDebts.forget(
            repeated.map { SlotDebt($0.job.capClaim(week: $0.week, globalCap: globalCap)) }
        )
    }

    /// No slot is left.
    private func refuse(_ job: ParsedJob, _ recipient: Recipient, _ reason: String, now: Timestamp) -> Conclusion {
        let end = MessageEnd(recipient.stored, otherwise: .suppressed, reason: reason, gate: "rate_limit")
        return conclude(job, recipient, end.status, end.reason, gate: end.gate, now: now)
    }

    private func conclude(
        _ job: ParsedJob,
        _ recipient: Recipient,
        _ status: MessageStatus,
        _ reason: String?,
        gate: String?,
        now: Timestamp
    ) -> Conclusion {
        let stored = recipient.stored
        let collides = reason == "id_collision"
        let isNews = collides || stored.map { $0.status == .pending || $0.status == .failed } ?? true
        var events = job.firstRunEvents(now: now)
        if isNews {
            let kind = DeliveryEvent.Kind(status)
            events.append(job.event(kind, at: now, gate: gate, reason: reason))
        } else {
            events.append(job.event(.duplicate, at: now, reason: status.rawValue))
        }
        let ownsRow = stored != nil && !collides
        let freed = collides ? [] : heldSlots(job, recipient, status: status)
        return Conclusion(
            job: job.job,
            record: DeliveryRecord(
                messageID: job.messageID,
                userID: job.content.userID.rawValue,
                category: job.category.id,
                status: ownsRow && isNews ? status : nil,
                reason: reason,
                events: events
            ),
            ending: Conclusion.ending(status, reason: reason),
            giveBack: freed,
            outcome: isNews ? status.rawValue : "duplicate",
            at: now
        )
    }

    /// The slot that an earlier run may still hold, for a message that reached nobody. Freeing a slot that was never taken, or was
    /// freed before, changes nothing: so a run that was cut short anywhere is made good by the next.
    private func heldSlots(_ job: ParsedJob, _ recipient: Recipient, status: MessageStatus) -> [CapClaim] {
        let week = recipient.stored?.weekKey ?? recipient.weekKey
        let stray = job.strayClaims(beside: week, globalCap: globalCap)
        guard [.failed, .expired, .suppressed, .cancelled].contains(status) else { return stray }
        if let stored = recipient.stored {
            guard stored.arrival == nil, stored.weekKey != nil || job.job.attemptsStarted > 1 else { return stray }
        } else if job.job.attemptsStarted <= 1 {
            return stray
        }
        // Without a row, or a week in it: killed, or postponed, between gate 4 and the write.
        return stray + [job.capClaim(week: week, globalCap: globalCap)]
    }

    private func deferral(_ job: ParsedJob, _ recipient: Recipient, until: Timestamp, now: Timestamp) -> Conclusion {
        let week = recipient.stored?.weekKey
        // A message that had failed is not over any more.
        let isReopened = recipient.stored?.status == .failed
        return Conclusion(
            job: job.job,
            record: DeliveryRecord(
                messageID: job.messageID,
                userID: job.content.userID.rawValue,
                category: job.category.id,
                status: isReopened ? .pending : nil,
                deliveries: isReopened ? DevicePlan.begunAnew(recipient) : [:],
                events: job.firstRunEvents(now: now) + [
                    job.event(
                        .deferred,
                        at: now,
                        gate: GateChain.window.name,
                        reason: "outside_window",
                        detail: ["until": .string(until.rfc3339)]
                    )
                ],
                // The slot goes back; the next run takes one of its own week.
                clearsWeek: week != nil
            ),
            ending: .again(at: until, countsAttempt: false, reason: nil),
            giveBack: heldSlots(job, recipient, status: .expired),
            outcome: nil,
            at: now
        )
    }
}

extension ParsedJob {
    /// An event older than this has no table to stand in; the month before the running one always has.
    private static let eventHorizon = Duration.seconds(27 * 86_400)

    /// The first run of a job also tells when and for when it was queued.
    func firstRunEvents(now: Timestamp) -> [DeliveryEvent] {
        guard job.attemptsStarted <= 1 else { return [] }
        var detail: [JSONMember] = []
        if due != enqueuedAt { detail.append(JSONMember("due", .string(due.rfc3339))) }
        let isPlausible = enqueuedAt <= now && now - enqueuedAt < Self.eventHorizon
        if !isPlausible { detail.append(JSONMember("enqueuedAt", .string(enqueuedAt.rfc3339))) }
        return [
            event(.enqueued, at: isPlausible ? enqueuedAt : now, detail: detail.isEmpty ? nil : .object(detail))
        ]
    }
}

extension DeliveryEvent.Kind {
    /// The event that tells of a message's end.
    init(_ status: MessageStatus) {
        self =
            switch status {
            case .pending: .retrying
            case .sent: .sent
            case .unknown: .unknown
            case .failed: .failed
            case .expired: .expired
            case .suppressed: .suppressed
            case .cancelled: .cancelled
            }
    }
}
