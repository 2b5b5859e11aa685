import Kernel
import Observability
import Synchronization

extension JobWorker {
    /// How long a worker without a free place, or without work, goes without asking Redis.
    private static let longestWait = Duration.seconds(2)

    /// Claims whenever there is room, until the stop.
    func claimLoop() async {
        var failures = 0
        while !isStopping.load(ordering: .relaxed) {
            let limit = min(await freePlaces(), options.claimGroup)
            guard !isStopping.load(ordering: .relaxed) else { return }
            do {
                if failures > 0 {
                    try await returnStrays()
                    failures = 0
                }
                let result = try await consumer.claim(limit: limit)
                claimWasAnswered()
                let period = period.load(ordering: .relaxed)
                pool.start(result.jobs.map { HeldJob($0, period: period) })
                if result.jobs.count < limit { await waitForWork(result) }
            } catch {
                metrics.claimErrors.increment()
                if failures == 0 { logger.warning("claiming failed", ["error": .error(error)]) }
                failures += 1
                await claimAlarm.wait(until: .now + min(.milliseconds(20 << min(failures, 4)), .milliseconds(300)))
            }
        }
    }

    /// Waits until there is room for a group that is worth a call, or for less when none comes within a moment.
    /// - Returns: 0 when all handlers have been at work for so long that delayed jobs should be looked after anyway.
    private func freePlaces() async -> Int {
        let group = min(options.claimGroup, max(options.concurrency / 4, 1))
        var deadline = ContinuousClock.now + Self.longestWait
        var isGathering = false
        while !isStopping.load(ordering: .relaxed) {
            let free = pool.freePlaces(ringAt: isGathering ? group : 1)
            if free >= group || ContinuousClock.now >= deadline { return free }
            if free > 0, !isGathering {
                isGathering = true
                deadline = min(deadline, .now + options.gatherTime)
                continue
            }
            await pool.freeAlarm.wait(until: deadline)
        }
        return 0
    }

    private func waitForWork(_ result: ClaimResult) async {
        if let limitedFor = result.limitedFor {
            // A marker would call at once, and in vain.
            await claimAlarm.wait(until: .now + min(limitedFor, Self.longestWait))
            return
        }
        await consumer.waitForWork(upTo: Self.longestWait, nextDue: result.nextDue)
        // Redis is not asked to wait for less than two milliseconds.
        guard let nextDue = result.nextDue, !isStopping.load(ordering: .relaxed) else { return }
        let rest = nextDue - queue.connection.clock.now
        if rest > .zero, rest <= .milliseconds(2) { await claimAlarm.wait(until: .now + rest) }
    }

    /// Gives back jobs of claims whose answer never came. Without this they would wait until their locks lapse.
    private func returnStrays() async throws(JobQueueError) {
        let known = Set(pool.held.map(\.job.id))
        let strays = try await consumer.strays().filter { !known.contains($0.id) }
        guard !strays.isEmpty else { return }
        _ = try await consumer.move(strays.map { MovedJob($0, to: .waiting) })
        logger.warning("jobs of an unanswered claim were given back", ["jobs": .integer(strays.count)])
    }
}
