import Kernel
import Notifications
import Observability
import Synchronization

/// The third stage: writes the rows of approved messages, sends to their devices, and works out what came of it.
///
/// Sends end one by one; each job is concluded as soon as its own devices have answered, so a slow answer holds up nobody.
struct Dispatcher: Sendable {
    let ports: EnginePorts
    let catalog: Catalog
    let configuration: EngineConfiguration
    let metrics: EngineMetrics
    let checkpoint: Checkpoint.Hook
    /// Takes conclusions, from any thread.
    let conclude: @Sendable (Conclusion) -> Void

    /// - Throws: when the store cannot be reached; the group was not sent then.
    func dispatch(_ jobs: [ApprovedJob]) async throws {
        guard !jobs.isEmpty else { return }
        var texts: [MessageID: PushText] = [:]
        for job in jobs { texts[job.parsed.messageID] = text(of: job) }
        let reopening = jobs.filter(\.isReopened).map(\.parsed.messageID)
        let writing = jobs.filter { $0.recipient.stored == nil || $0.isReopened }
        let rows = writing.compactMap { job in texts[job.parsed.messageID].map { row(job, text: $0) } }
        let began = ContinuousClock.now
        let results = try await ports.messages.write(rows, reopening: Set(reopening))
        metrics.took(.write, since: began)
        checkpoint(.afterWrite)
        var resultByID: [MessageID: WriteResult] = [:]
        for (row, result) in zip(rows, results) { resultByID[row.id] = result }
        for job in jobs {
            switch resultByID[job.parsed.messageID] {
            case .refused(let reason): conclude(refusal(job, reason: reason))
            case .existed: conclude(postponement(job))
            case .written, nil:
                guard job.readAt.duration(to: .now) < configuration.recipientsMaxAge else {
                    conclude(postponement(job))
                    continue
                }
                send(job, text: texts[job.parsed.messageID])
            }
        }
    }

    private func text(of job: ApprovedJob) -> PushText {
        let locale = ServerLocale.resolve(job.parsed.content.languageCode ?? job.recipient.language)
        return catalog.pushText(
            job.parsed.content.text,
            title: job.parsed.content.title,
            category: job.parsed.category,
            locale: locale
        )
    }

    private func row(_ job: ApprovedJob, text: PushText) -> NewMessage {
        let content = job.parsed.content
        return NewMessage(
            id: job.parsed.messageID,
            userID: content.userID,
            category: content.category,
            text: text,
            deeplinkURL: content.deeplinkURL ?? job.parsed.category.defaultDeeplink,
            metadata: content.metadata,
            sourceEntityID: content.sourceEntityID,
            batchReference: content.batchReference,
            language: content.languageCode ?? job.recipient.language,
            jobID: job.parsed.job.id,
            enqueuedAt: job.parsed.enqueuedAt,
            dueAt: job.parsed.due,
            weekKey: job.weekKey,
            isCapOpen: job.capAnswer == .uncounted,
            isTest: content.isTest
        )
    }

    private func send(_ job: ApprovedJob, text: PushText?) {
        let plan = DevicePlan(recipient: job.recipient, limit: attemptLimit(job))
        let run = DeliveryRun(job: job, plan: plan, configuration: configuration)
        guard let text, !plan.devices.isEmpty else {
            conclude(run.conclusion(answers: [:]))
            return
        }
        let payload: [UInt8]
        do {
            payload = try PushPayload.alert(
                text: text,
                category: job.parsed.category,
                messageID: job.parsed.messageID,
                deeplinkURL: job.parsed.content.deeplinkURL ?? job.parsed.category.defaultDeeplink,
                entityID: job.parsed.content.sourceEntityID,
                // This message will be one more, unless no inbox shows it.
                badge: job.recipient.unread.map { job.parsed.content.isTest ? $0 : $0 + 1 }
            )
        } catch {
            let answers = plan.devices.map { ($0.id, SendResult.rejected(reason: "PayloadTooLarge")) }
            conclude(run.conclusion(answers: Dictionary(answers, uniquingKeysWith: { first, _ in first })))
            return
        }
        let gathering = AnswerGathering(expected: plan.devices.count)
        for device in plan.devices {
            let push = DevicePush(
                device: device,
                messageID: job.parsed.messageID,
                payload: payload,
                priority: job.parsed.category.presentation.apnsPriority,
                expiration: job.parsed.deadline
            )
            let began = ContinuousClock.now
            ports.push.send(push) { [conclude, checkpoint, metrics] result in
                metrics.sendDuration.observe(began.duration(to: .now))
                guard let answers = gathering.add(result, from: device.id) else { return }
                checkpoint(.afterSend)
                conclude(run.conclusion(answers: answers))
            }
        }
    }

    private func attemptLimit(_ job: ApprovedJob) -> Int {
        job.parsed.job.attemptsLimit ?? configuration.attemptsPerDevice
    }

    /// The database refused this row alone: it will never succeed.
    private func refusal(_ job: ApprovedJob, reason: String) -> Conclusion {
        let parsed = job.parsed
        return Conclusion(
            job: parsed.job,
            record: DeliveryRecord(
                messageID: parsed.messageID,
                userID: parsed.content.userID.rawValue,
                category: parsed.category.id,
                events: parsed.firstRunEvents(now: job.judgedAt) + [
                    parsed.event(.failed, at: job.judgedAt, gate: "write", reason: reason)
                ]
            ),
            ending: .failed(reason: reason),
            giveBack: job.weekKey.map { [parsed.capClaim(week: $0, globalCap: configuration.globalWeeklyCap)] } ?? [],
            outcome: "failed",
            at: job.judgedAt
        )
    }

    /// The job must look again: another run wrote the row meanwhile, or what was read has grown old.
    private func postponement(_ job: ApprovedJob) -> Conclusion {
        var generator = SystemRandomNumberGenerator()
        let wait = AttemptPolicy(limit: configuration.attemptsPerDevice).outageDelay(
            claims: job.parsed.job.attemptsStarted,
            using: &generator
        )
        return Conclusion(
            job: job.parsed.job,
            record: DeliveryRecord(
                messageID: job.parsed.messageID,
                userID: job.parsed.content.userID.rawValue,
                category: job.parsed.category.id,
                events: job.parsed.firstRunEvents(now: job.judgedAt)
            ),
            ending: .again(at: job.judgedAt + job.readAt.duration(to: .now) + wait, countsAttempt: false, reason: nil),
            at: job.judgedAt
        )
    }
}

extension ApprovedJob {
    /// Whether the row stands and becomes `pending` with the week given now.
    var isReopened: Bool { recipient.stored?.status == .failed || needsWeek }

    /// Whether the row stands but lost its slot to a deferral, so that the new week must be written to it.
    var needsWeek: Bool { recipient.stored.map { $0.status == .pending && !$0.passedCaps } ?? false }
}

/// Gathers the answers of one message's devices.
private final class AnswerGathering: Sendable {
    private let expected: Int
    private let answers = Mutex<[Int64: SendResult]>([:])

    init(expected: Int) {
        self.expected = expected
    }

    /// - Returns: all answers, once the last one is here.
    func add(_ answer: SendResult, from device: Int64) -> [Int64: SendResult]? {
        answers.withLock { answers in
            answers[device] = answer
            return answers.count == expected ? answers : nil
        }
    }
}
