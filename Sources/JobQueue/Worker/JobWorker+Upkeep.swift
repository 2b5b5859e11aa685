import Kernel
import Observability
import Synchronization

extension JobWorker {
    /// Renews locks four times in their duration until the last job has left.
    func renewLoop() async {
        let interval = options.consumer.lockDuration / 4
        var wait = interval
        while needsLocks {
            await renewAlarm.wait(until: .now + wait)
            wait = interval
            let period = period.wrappingAdd(1, ordering: .relaxed).oldValue
            // What was claimed in the period that just ended has a fresh lock.
            let due = pool.held.filter { $0.period < period && !$0.isLost }
            guard !due.isEmpty else { continue }
            do {
                let lost = Set(try await consumer.extend(due.map(\.job.locked)))
                if !lost.isEmpty { lose(due.filter { lost.contains($0.job.id) }) }
            } catch {
                metrics.renewErrors.increment()
                logger.warning("renewing locks failed", ["error": .error(error)])
                wait = min(interval, .milliseconds(200))
            }
        }
    }

    private func lose(_ jobs: [HeldJob]) {
        for held in jobs { held.markLost() }
        // One that ended meanwhile was let go of by ourselves.
        let running = Set(pool.held.map(ObjectIdentifier.init))
        let count = jobs.count { running.contains(ObjectIdentifier($0)) }
        if count > 0 { logger.warning("locks are lost, the handlers are cancelled", ["jobs": .integer(count)]) }
        pool.cancel(jobs)
    }

    /// Looks for jobs of workers that are gone and for what nobody else tidies up, first at the start.
    func stalledLoop() async {
        while !isStopping.load(ordering: .relaxed) {
            var wait = options.consumer.stalledInterval
            do {
                _ = try await consumer.recoverStalled()
                try await consumer.maintain()
            } catch {
                metrics.stalledErrors.increment()
                logger.warning("looking for stalled jobs failed", ["error": .error(error)])
                wait = min(wait, .seconds(1))
            }
            await stalledAlarm.wait(until: .now + wait)
        }
    }
}
