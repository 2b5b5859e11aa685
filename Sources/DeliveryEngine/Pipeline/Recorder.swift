import Kernel
import NotificationContract
import Notifications
import Observability
import Synchronization

/// The last stage: takes dead tokens out of use, records outcomes, frees slots and ends jobs, in groups and in that order.
///
/// Conclusions arrive one by one from any thread and leave together: as soon as a group is full, or after a few
/// milliseconds.
final class Recorder: Sendable {
    private let ports: EnginePorts
    private let configuration: EngineConfiguration
    private let inFlight: InFlightJobs
    private let slots: SlotPool
    private let clock: any Clock<Duration>
    private let checkpoint: Checkpoint.Hook
    private let telemetry: Telemetry
    private let metrics: EngineMetrics
    private let deadTokens: DeadTokens
    private let slotReturns: SlotReturns
    /// Bounded by the jobs in flight: each has at most one conclusion.
    private let inbox: BoundedChannel<Conclusion>

    init(
        ports: EnginePorts,
        configuration: EngineConfiguration,
        inFlight: InFlightJobs,
        slots: SlotPool,
        clock: any Clock<Duration>,
        checkpoint: @escaping Checkpoint.Hook,
        telemetry: Telemetry,
        metrics: EngineMetrics
    ) {
        self.ports = ports
        self.configuration = configuration
        self.inFlight = inFlight
        self.slots = slots
        self.clock = clock
        self.checkpoint = checkpoint
        self.telemetry = telemetry
        self.metrics = metrics
        inbox = BoundedChannel(capacity: .max)
        deadTokens = DeadTokens(
            tokens: ports.tokens,
            telemetry: telemetry,
            failures: metrics.failure("invalidate")
        )
        slotReturns = SlotReturns(
            caps: ports.caps,
            debts: ports.slotDebts,
            telemetry: telemetry,
            failures: metrics.failure("give_back")
        )
    }

    /// Takes a conclusion, from any thread.
    func submit(_ conclusion: Conclusion) {
        inbox.offer(conclusion)
    }

    /// Ends `run` once everything submitted has been recorded.
    func finish() {
        inbox.finish()
    }

    /// Works until `finish` was called and all is recorded. Ending jobs overlaps with recording the next group.
    func run() async {
        let recorded = BoundedChannel<[Conclusion]>(capacity: 2)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                while true {
                    let batch = await collect()
                    if batch.isEmpty { break }
                    await recorded.send(await record(batch))
                }
                recorded.finish()
            }
            group.addTask { [self] in
                while let batch = await recorded.receive() { await end(batch) }
            }
        }
    }

    private func collect() async -> [Conclusion] {
        var batch = await inbox.receive(upTo: configuration.recordGroupSize)
        if batch.isEmpty || batch.count >= configuration.recordGroupSize { return batch }
        // Waiting cannot fail except by cancellation, and then there is nothing to wait for.
        try? await clock.sleep(for: configuration.recordDelay)
        batch += inbox.takeAvailable(upTo: configuration.recordGroupSize - batch.count)
        return batch
    }

    private func record(_ batch: [Conclusion]) async -> [Conclusion] {
        let batch = await deadTokens.putAway(in: batch)
        checkpoint(.afterInvalidation)
        let began = ContinuousClock.now
        let count = batch.count { !$0.record.isEmpty }
        var done = await persist("record", count: count) { [self] isRepeat in
            // Asked anew each time: a lock may lapse while the store is away.
            let records = batch.map { inFlight.isLost($0.job) ? $0.withoutLock().record : $0.record }
            try await ports.outcomes.record(records.filter { !$0.isEmpty }, isRepeat: isRepeat)
        }
        metrics.took(.record, since: began)
        checkpoint(.afterRecord)
        if done {
            done = await persist("slot_debts", count: batch.count { !$0.giveBack.isEmpty }) { [self] _ in
                try await slotReturns.giveBack(batch.filter { !inFlight.isLost($0.job) }.flatMap(\.giveBack))
            }
            checkpoint(.afterGiveBack)
        }
        guard done else {
            // Jobs that are not recorded, or hold a slot that nobody would free, are not ended: their locks run out, and another
            // run finds what devices already took by id.
            release(batch)
            return []
        }
        return batch
    }

    private func end(_ batch: [Conclusion]) async {
        guard !batch.isEmpty else { return }
        let owned = batch.filter { !inFlight.isLost($0.job) }
        // Two calls, so that trying the second again does not end the jobs of the first twice.
        let (finishing, moving) = (owned.filter(\.ending.isFinal), owned.filter { !$0.ending.isFinal })
        let began = ContinuousClock.now
        let ended = await endGroup(finishing) + endGroup(moving)
        metrics.took(.end, since: began)
        checkpoint(.afterEnd)
        release(batch)
        var counts: [OutcomeCount: Int] = [:]
        for conclusion in ended {
            guard let outcome = conclusion.outcome else { continue }
            counts[
                OutcomeCount(category: conclusion.record.category?.rawValue ?? "none", outcome: outcome),
                default: 0
            ] += 1
        }
        for (key, count) in counts { metrics.outcome(key.outcome, category: key.category).increment(by: count) }
        if !counts.isEmpty, let moment = batch.first?.at { await ports.statistics.add(counts, at: moment) }
    }

    /// Ends jobs in the queue and answers those that were ours to end.
    private func endGroup(_ batch: [Conclusion]) async -> [Conclusion] {
        let endings = batch.map { EndedJob(id: $0.job.id, token: $0.job.token, ending: $0.ending) }
        let lost = Mutex<Set<String>>([])
        let done = await persist("end", count: endings.count) { [ports] isRepeat in
            let ids = try await ports.jobs.end(endings, isRepeat: isRepeat)
            lost.withLock { $0 = ids }
        }
        guard done else { return [] }
        let lostIDs = lost.withLock { $0 }
        if !lostIDs.isEmpty { await reportLost(batch.filter { lostIDs.contains($0.job.id) }) }
        return batch.filter { !lostIDs.contains($0.job.id) }
    }

    private func reportLost(_ batch: [Conclusion]) async {
        metrics.locksLost.increment(by: batch.count)
        telemetry.logger.warning("locks were lost before jobs ended", ["jobs": .integer(batch.count)])
        let records = batch.map { $0.withoutLock() }.map { conclusion in
            var record = conclusion.record
            // The rest was recorded before the loss was known.
            record.deliveries = [:]
            record.acceptedAt = nil
            record.events = record.events.filter { $0.kind == .lockLost }
            return record
        }
        _ = await persist("record", count: records.count) { [ports] isRepeat in
            try await ports.outcomes.record(records, isRepeat: isRepeat)
        }
    }

    private func release(_ batch: [Conclusion]) {
        inFlight.remove(batch.map(\.job))
        slots.release(batch.count)
    }

    /// Tries until it succeeds or patience ends; locks are renewed meanwhile.
    private func persist(_ step: String, count: Int, _ body: @Sendable (_ isRepeat: Bool) async throws -> Void) async
        -> Bool
    {
        guard count > 0 else { return true }
        let deadline = ContinuousClock.now + configuration.outagePatience
        var generator = SystemRandomNumberGenerator()
        for attempt in 0... {
            do {
                try await body(attempt > 0)
                return true
            } catch {
                metrics.failure(step).increment()
                telemetry.logger.error(
                    "a group could not be persisted",
                    ["step": .string(step), "jobs": .integer(count), "error": .error(error)]
                )
                let delay = Backoff(base: .milliseconds(200), limit: .seconds(5)).delay(
                    attempt: attempt,
                    using: &generator
                )
                guard ContinuousClock.now + delay < deadline, !Task.isCancelled else {
                    return false
                }
                try? await clock.sleep(for: delay)
            }
        }
        return false
    }
}

extension Conclusion {
    /// The same conclusion for a job whose lock is lost: acceptances are kept, the status is somebody else's to decide.
    func withoutLock() -> Conclusion {
        var copy = self
        copy.record.status = nil
        copy.record.reason = nil
        copy.record.deliveries = record.deliveries.filter { $0.value.state == .accepted }
        copy.record.clearsWeek = false
        copy.giveBack = []
        copy.outcome = nil
        copy.record.events.append(
            DeliveryEvent(
                kind: .lockLost,
                messageID: record.messageID,
                userID: record.userID,
                category: record.category?.rawValue,
                jobID: job.id,
                attemptsStarted: job.attemptsStarted,
                attempt: 0,
                at: at
            )
        )
        return copy
    }
}
