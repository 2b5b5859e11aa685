package import Kernel
package import NotificationBus
package import Notifications
package import Observability
import Synchronization

/// Takes notifications from the queue and carries each to its end: judged, written, sent, recorded, finished.
///
/// The stages run side by side with bounded channels between them. A crash at any point leaves a job whose lock runs out; its
/// next run finds what was done by the message's id.
package final class DeliveryEngine: Sendable {
    /// How long a worker without room for prioritized jobs waits before it looks again.
    private static let fullPause = Duration.milliseconds(10)

    private let ports: EnginePorts
    private let configuration: EngineConfiguration
    private let clock: any Clock<Duration>
    private let wallClock: any WallClock
    private let telemetry: Telemetry
    private let metrics: EngineMetrics
    private let checkpoint: Checkpoint.Hook
    private let intake: JobIntake
    private let judge: Judge
    private let dispatcher: Dispatcher
    private let recorder: Recorder
    private let slotKeeper: SlotKeeper
    private let inFlight: InFlightJobs
    private let slots: SlotPool
    /// One for each step: that reading works says nothing of writing.
    private let readOutage = OutageGate()
    private let writeOutage = OutageGate()
    private let isStopping = Atomic<Bool>(false)
    private let claimedGroups = BoundedChannel<[LeasedJob]>(capacity: 1)
    private let approvedGroups = BoundedChannel<[ApprovedJob]>(capacity: 1)

    /// - Parameters:
    ///   - acceptsLiteralText: whether jobs with words that nobody vouches for are delivered.
    ///   - voucher: tells the jobs of this platform's producers; `nil` for none.
    ///   - checkpoint: called between steps, for tests that end the process there.
    package init(
        ports: EnginePorts,
        registry: CategoryRegistry,
        catalog: Catalog,
        parser: NotificationParser,
        identity: MessageIdentity,
        acceptsLiteralText: Bool = true,
        voucher: JobVoucher? = nil,
        configuration: EngineConfiguration = EngineConfiguration(),
        clock: any Clock<Duration> = ContinuousClock(),
        wallClock: any WallClock = SystemWallClock(),
        telemetry: Telemetry,
        checkpoint: @escaping Checkpoint.Hook = { _ in }
    ) {
        self.ports = ports
        self.configuration = configuration
        self.clock = clock
        self.wallClock = wallClock
        self.telemetry = telemetry
        self.checkpoint = checkpoint
        let inFlight = InFlightJobs(lockDuration: configuration.lockDuration)
        self.inFlight = inFlight
        metrics = EngineMetrics(registry: telemetry.metrics) { Double(inFlight.count) }
        slots = SlotPool(capacity: configuration.maxInFlight)
        intake = JobIntake(
            registry: registry,
            parser: parser,
            identity: identity,
            claimLimit: configuration.claimLimit,
            acceptsLiteralText: acceptsLiteralText,
            voucher: voucher
        )
        judge = Judge(
            ports: ports,
            globalCap: configuration.globalWeeklyCap,
            claimLimit: configuration.claimLimit,
            attemptsPerDevice: configuration.attemptsPerDevice,
            metrics: metrics,
            checkpoint: checkpoint
        )
        slotKeeper = SlotKeeper(
            upkeep: ports.upkeep,
            caps: ports.caps,
            debts: ports.slotDebts,
            statistics: ports.statistics,
            registry: registry,
            configuration: configuration,
            clock: clock,
            wallClock: wallClock,
            telemetry: telemetry,
            metrics: metrics
        )
        let recorder = Recorder(
            ports: ports,
            configuration: configuration,
            inFlight: inFlight,
            slots: slots,
            clock: clock,
            checkpoint: checkpoint,
            telemetry: telemetry,
            metrics: metrics
        )
        self.recorder = recorder
        dispatcher = Dispatcher(
            ports: ports,
            catalog: catalog,
            configuration: configuration,
            metrics: metrics,
            checkpoint: checkpoint,
            conclude: { recorder.submit($0) }
        )
    }

    /// Jobs held at this moment.
    package var jobsInFlight: Int { inFlight.count }

    /// Works until `stop` returns, then stops claiming, lets what is in flight end, and gives back what has not been sent.
    /// Ends when all is recorded; cancel the task to cut that short.
    package func run(until stop: @escaping @Sendable () async -> Void) async {
        let upkeep = Task { await self.upkeep() }
        await withTaskGroup(of: Void.self) { group in
            let claiming = Task { await self.claimLoop() }
            group.addTask {
                await stop()
                self.isStopping.store(true, ordering: .relaxed)
                claiming.cancel()
                self.slots.close()
                await claiming.value
                self.claimedGroups.finish()
            }
            group.addTask {
                while let jobs = await self.claimedGroups.receive() { await self.judgeGroup(jobs) }
                self.approvedGroups.finish()
            }
            group.addTask {
                while let jobs = await self.approvedGroups.receive() { await self.dispatchGroup(jobs) }
                // Sends that were handed over end by their own deadlines.
                await self.slots.drained()
                self.recorder.finish()
            }
            group.addTask { await self.recorder.run() }
        }
        upkeep.cancel()
        await upkeep.value
    }

    private func claimLoop() async {
        var failures = 0
        while !Task.isCancelled {
            if let pause = readOutage.pause ?? writeOutage.pause {
                await sleep(pause)
                continue
            }
            let places = await slots.take(atLeast: 1, upTo: configuration.groupSize)
            guard places > 0, !Task.isCancelled else { return slots.release(places) }
            do {
                let prioritized = prioritizedLimit(of: places)
                let began = ContinuousClock.now
                let group = try await ports.jobs.claim(limit: places, prioritizedLimit: prioritized)
                failures = 0
                slots.release(places - group.jobs.count)
                guard !group.jobs.isEmpty else {
                    // With its places for prioritized jobs full, this worker would be called for them at once, over and over.
                    if prioritized < places {
                        await sleep(Self.fullPause)
                    } else {
                        await ports.jobs.waitForWork(nextDue: group.nextDue)
                    }
                    continue
                }
                metrics.took(.claim, since: began)
                metrics.claimed.increment(by: group.jobs.count)
                inFlight.add(group.jobs, takenSince: began)
                checkpoint(.afterClaim)
                await claimedGroups.send(group.jobs)
            } catch {
                slots.release(places)
                metrics.failure("claim").increment()
                telemetry.logger.warning("claiming failed", ["error": .error(error)])
                var generator = SystemRandomNumberGenerator()
                let backoff = Backoff(base: .milliseconds(100), limit: .seconds(2))
                await sleep(backoff.delay(attempt: failures, using: &generator))
                failures += 1
            }
        }
    }

    /// How many of the places just taken may go to prioritized jobs, so that a tenth of all stays for the plain list.
    private func prioritizedLimit(of places: Int) -> Int {
        let reserved = Int(Double(slots.capacity) * configuration.reservedShare)
        let usedByOthers = slots.used - places
        return max(0, min(places, slots.capacity - reserved - usedByOthers))
    }

    private func judgeGroup(_ jobs: [LeasedJob]) async {
        var parsed: [ParsedJob] = []
        let now = wallClock.now
        for job in jobs {
            switch intake.read(job, now: now) {
            case .parsed(let understood):
                parsed.append(understood)
                if job.attemptsStarted <= 1 { metrics.queueWait.observe(max(.zero, now - understood.due)) }
            case .refused(let conclusion): recorder.submit(conclusion)
            }
        }
        guard !parsed.isEmpty else { return }
        if isStopping.load(ordering: .relaxed) { return giveBack(parsed) }
        do {
            let judgement = try await judge.judge(parsed)
            readOutage.succeeded()
            for conclusion in judgement.concluded { recorder.submit(conclusion) }
            await approvedGroups.send(judgement.approved)
        } catch {
            postpone(parsed, step: "judge", outage: readOutage, error: error)
        }
    }

    private func dispatchGroup(_ jobs: [ApprovedJob]) async {
        // Approved jobs hold slots without a row; the next run finds them by message id, or frees them.
        if isStopping.load(ordering: .relaxed) { return giveBack(jobs.map(\.parsed)) }
        do {
            try await dispatcher.dispatch(jobs)
            if !jobs.isEmpty { writeOutage.succeeded() }
        } catch {
            postpone(jobs.map(\.parsed), step: "write", outage: writeOutage, error: error)
        }
    }

    /// Puts jobs that nothing was done for yet back to the front of the queue.
    private func giveBack(_ jobs: [ParsedJob]) {
        for parsed in jobs { recorder.submit(untouched(parsed, ending: .givenBack, now: wallClock.now)) }
    }

    private func untouched(_ parsed: ParsedJob, ending: JobEnding, now: Timestamp) -> Conclusion {
        Conclusion(
            job: parsed.job,
            record: DeliveryRecord(
                messageID: parsed.messageID,
                userID: parsed.content.userID.rawValue,
                category: parsed.category.id,
                events: parsed.firstRunEvents(now: now)
            ),
            ending: ending,
            at: now
        )
    }

    /// An outage of ours moves the group without counting an attempt, and holds back the next claim.
    private func postpone(_ jobs: [ParsedJob], step: String, outage: OutageGate, error: any Error) {
        metrics.failure(step).increment()
        let pause = outage.failed()
        telemetry.logger.error(
            "a group is postponed",
            ["step": .string(step), "jobs": .integer(jobs.count), "error": .error(error)]
        )
        let now = wallClock.now
        let policy = AttemptPolicy(limit: configuration.attemptsPerDevice)
        var generator = SystemRandomNumberGenerator()
        for parsed in jobs {
            let wait = max(pause, policy.outageDelay(claims: parsed.job.attemptsStarted, using: &generator))
            recorder.submit(
                untouched(parsed, ending: .again(at: now + wait, countsAttempt: false, reason: nil), now: now)
            )
        }
    }

    private func upkeep() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.renewLocks() }
            group.addTask { await self.recoverStalled() }
            group.addTask { await self.slotKeeper.run() }
        }
    }

    private func renewLocks() async {
        while !Task.isCancelled {
            await sleep(configuration.lockRenewal)
            let held = inFlight.held
            guard !held.isEmpty, !Task.isCancelled else { continue }
            let began = ContinuousClock.now
            do {
                let lost = try await ports.jobs.extend(held)
                inFlight.renewed(held, except: lost, since: began)
            } catch {
                metrics.failure("extend").increment()
                telemetry.logger.warning("renewing locks failed", ["error": .error(error)])
            }
        }
    }

    private func recoverStalled() async {
        while !Task.isCancelled {
            do {
                try await ports.jobs.recoverStalled()
            } catch {
                metrics.failure("stalled").increment()
                telemetry.logger.warning("looking for stalled jobs failed", ["error": .error(error)])
            }
            await sleep(configuration.stalledCheck)
        }
    }

    /// Sleeps; a cancelled sleep ends early, which is all that its callers need to know.
    private func sleep(_ duration: Duration) async {
        try? await clock.sleep(for: duration)
    }
}
