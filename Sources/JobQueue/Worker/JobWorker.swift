import Kernel
import Observability
package import RedisClient
import Synchronization

/// Runs a handler over the jobs of a queue: claims in groups, retries by each job's options, renews locks, ends in groups.
///
/// At least once is the contract: a handler may run again for a job whose lock lapsed. All calls to Redis are made from a
/// thread of the worker's own, so handlers that block every thread of the cooperative pool let no lock lapse.
package final class JobWorker: Sendable {
    /// Returns the job's return value as one JSON text. A thrown `UnrecoverableFailure` fails the job for good, a thrown
    /// `DelayedJob` moves it, a `RateLimitedJob` gives it back, and any other error is a failed attempt.
    package typealias Handler = @Sendable (JobContext) async throws -> String

    package struct Options: Sendable {
        /// Printable, without spaces; dashboards show it.
        package var name: String
        /// How many handlers run at a time.
        package var concurrency: Int
        /// The most jobs of one claim. At most 1000.
        package var claimGroup: Int
        /// So many ended jobs go to Redis at once, without waiting for more.
        package var gatherCount: Int
        /// How long an ended job, or a free place, waits for others while handlers run.
        package var gatherTime: Duration
        /// How long handlers may go on after a stop was asked for.
        package var stopGrace: Duration
        package var consumer: JobConsumer.Options
        package var retries: RetryPolicy

        package init(
            name: String,
            concurrency: Int = 50,
            claimGroup: Int = 256,
            gatherCount: Int = 256,
            gatherTime: Duration = .milliseconds(2),
            stopGrace: Duration = .seconds(10),
            consumer: JobConsumer.Options = .init(),
            retries: RetryPolicy = RetryPolicy()
        ) {
            self.name = name
            self.concurrency = max(concurrency, 1)
            self.claimGroup = min(max(claimGroup, 1), JobConsumer.groupLimit)
            self.gatherCount = min(max(gatherCount, 1), JobConsumer.groupLimit)
            self.gatherTime = gatherTime
            self.stopGrace = stopGrace
            self.consumer = consumer
            self.retries = retries
        }
    }

    let options: Options
    let queue: JobQueue
    let consumer: JobConsumer
    let pool: HandlerPool
    let executor: ThreadExecutor
    let metrics: WorkerMetrics
    let logger: Logger
    /// Ends a pause of the claiming loop.
    let claimAlarm: Alarm
    let renewAlarm: Alarm
    let stalledAlarm: Alarm
    /// Counts the renewals, so that a lock younger than the last one is left alone.
    let period = Atomic<Int>(0)
    let isStopping = Atomic<Bool>(false)
    /// After this moment results that Redis does not take are given up.
    let releaseDeadline = Mutex<ContinuousClock.Instant?>(nil)
    private let isOver = Atomic<Bool>(false)
    private let redis: RedisClient
    private let answered = Mutex<ContinuousClock.Instant?>(nil)

    /// - Parameters:
    ///   - redis: for everything but the wait for work. It belongs to the caller.
    ///   - blockingURL: the same server again; waiting for work needs a connection of its own.
    package init(
        queue: JobQueue,
        redis: RedisClient,
        blockingURL: RedisURL,
        options: Options,
        handler: @escaping Handler
    ) {
        self.options = options
        self.queue = queue
        self.redis = redis
        logger = queue.telemetry.logger
        consumer = JobConsumer(
            queue: queue,
            redis: redis,
            blockingURL: blockingURL,
            workerName: options.name,
            options: options.consumer
        )
        executor = ThreadExecutor(name: "jobs-\(options.name)")
        claimAlarm = executor.makeAlarm()
        renewAlarm = executor.makeAlarm()
        stalledAlarm = executor.makeAlarm()
        let run = HandlerRun(queue: queue, retries: options.retries, handler: handler)
        let pool = HandlerPool(
            limits: HandlerPool.Limits(concurrency: options.concurrency, endedGroup: options.gatherCount),
            executor: executor
        ) { held in await run.perform(held) }
        self.pool = pool
        metrics = WorkerMetrics(registry: queue.telemetry.metrics, queue: queue.name) { Double(pool.runningCount) }
    }

    /// When a claim was last answered, an empty answer included: what liveness is judged by. A worker without a free place
    /// asks too, every two seconds.
    package var lastAnsweredClaim: ContinuousClock.Instant? { answered.withLock { $0 } }

    /// Handlers at work.
    package var runningCount: Int { pool.runningCount }

    func claimWasAnswered() {
        answered.withLock { $0 = .now }
    }

    /// Works until `stop` returns. Then it claims nothing more, waits for the handlers as long as the grace, cancels the rest,
    /// and gives their jobs back to be next in line. A handler that ignores its cancellation goes on, but records nothing.
    /// - Throws: at once, when Redis cannot be asked or is not fit to hold a queue. Later failures never end the run.
    package func run(until stop: @escaping @Sendable () async -> Void) async throws(JobQueueError) {
        try await queue.checkServer()
        let work = Task(executorPreference: executor) { await self.work(until: stop) }
        await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            work.cancel()
        }
    }

    private func work(until stop: @Sendable () async -> Void) async {
        let claiming = Task(executorPreference: executor) { await self.claimLoop() }
        let releasing = Task(executorPreference: executor) { await self.releaseLoop() }
        let renewing = Task(executorPreference: executor) { await self.renewLoop() }
        let recovering = Task(executorPreference: executor) { await self.stalledLoop() }
        await stop()
        isStopping.store(true, ordering: .relaxed)
        for alarm in [claimAlarm, pool.freeAlarm, stalledAlarm] { alarm.ring() }
        // Ends a wait for work that is under way.
        await consumer.close()
        await claiming.value
        await recovering.value
        await endHandlers()
        await releasing.value
        isOver.store(true, ordering: .relaxed)
        renewAlarm.ring()
        await renewing.value
    }

    /// Locks are renewed until the last job has left.
    var needsLocks: Bool { !isOver.load(ordering: .relaxed) }

    private func endHandlers() async {
        pool.add(pool.takeReady().map { EndedJob(held: $0, ending: .givenBack) })
        await waitForHandlers(atMost: options.stopGrace)
        // Those that heed it end by themselves, and what they did counts.
        pool.cancel(pool.running)
        await waitForHandlers(atMost: min(options.stopGrace, .seconds(1)))
        let rest = pool.running
        for held in rest { held.markGivenUp() }
        pool.add(rest.map { EndedJob(held: $0, ending: .givenBack) })
        if !rest.isEmpty {
            logger.warning(
                "handlers ignore their cancellation, their jobs are given back",
                ["jobs": .integer(rest.count)]
            )
        }
        releaseDeadline.withLock { $0 = .now + .seconds(5) }
        pool.close(abandoning: !rest.isEmpty)
    }

    private func waitForHandlers(atMost limit: Duration) async {
        let deadline = ContinuousClock.now + limit
        while pool.runningCount > 0, ContinuousClock.now < deadline {
            await claimAlarm.wait(until: min(deadline, .now + .milliseconds(5)))
        }
    }
}
