import Kernel
package import Observability
package import Store

/// The lifecycle producer's three loops: jobs of the queue, what the queue lost, and notices before the end.
package struct LifecycleService: Sendable {
    /// A row that was put on the queue so long ago and is not settled is put there again.
    private static let overdue = Duration.seconds(60)
    private static let resendInterval = Duration.seconds(15)
    private static let resendLimit = 500
    /// The pause after a run that failed.
    private static let pause = Duration.seconds(30)

    /// Waits for so long; `false` when a stop was asked for meanwhile.
    package typealias Sleep = @Sendable (Duration) async -> Bool

    private let queue: LifecycleQueue
    private let outbox: AppStoreOutbox
    private let notices: ExpiryNotices
    private let sweepInterval: Duration
    private let logger: Logger
    private let resent: Counter
    private let failures: Counter

    /// - Parameter sweepInterval: how often notices before the end are looked for.
    package init(
        queue: LifecycleQueue,
        outbox: AppStoreOutbox,
        notices: ExpiryNotices,
        sweepInterval: Duration,
        telemetry: Telemetry
    ) {
        self.queue = queue
        self.outbox = outbox
        self.notices = notices
        self.sweepInterval = sweepInterval
        logger = telemetry.logger
        resent = telemetry.metrics.counter(
            "lifecycle_resent_total",
            help: "What stood in the outbox for over a minute and was put on the queue again."
        )
        failures = telemetry.metrics.counter(
            "lifecycle_run_failures_total",
            help: "Runs over the outbox or over ending subscriptions that failed; they are repeated."
        )
    }

    /// Puts on the queue what stands in the outbox for too long.
    /// - Returns: how much that was.
    package func resendOverdue() async throws -> Int {
        let waiting = try await outbox.takeOverdue(olderThan: Self.overdue, limit: Self.resendLimit)
        try await queue.add(waiting)
        resent.increment(by: waiting.count)
        return waiting.count
    }

    /// Looks after the outbox until the stop.
    package func resend(_ sleep: Sleep) async {
        while await sleep(Self.resendInterval) {
            do {
                _ = try await resendOverdue()
            } catch {
                note(error, "the outbox cannot be looked through")
                guard await sleep(Self.pause) else { return }
            }
        }
    }

    /// Sends notices before the end, until the stop.
    package func announceEnds(_ sleep: Sleep, isStopped: @Sendable () -> Bool) async {
        repeat {
            do {
                let count = try await notices.run(isStopped: isStopped)
                if count > 0 { logger.info("told of ending subscriptions", ["count": .integer(count)]) }
            } catch {
                note(error, "ending subscriptions cannot be looked through")
                guard await sleep(Self.pause) else { return }
            }
        } while await sleep(sweepInterval)
    }

    private func note(_ error: any Error, _ message: StaticString) {
        failures.increment()
        logger.warning(message, ["error": .error(error)])
    }
}
