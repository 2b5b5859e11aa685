package import Kernel
import Observability
package import RedisClient
import Synchronization

/// Takes jobs of a queue and lets them go again, in groups: the round trips are what is expensive.
///
/// At least once is the contract: a job whose lock lapses runs again.
///
/// When a run of a scheduler is taken, its next run is planned. A parent may be finished while children that it added itself are still open.
package final class JobConsumer: Sendable {
    package struct Options: Sendable {
        /// How long a lock lasts without being renewed. Renew at a quarter of it.
        package var lockDuration: Duration
        /// How often the check for stalled jobs runs, over all workers of the queue together.
        package var stalledInterval: Duration
        /// How often a job may lose its worker before it shall fail.
        package var maxStalledCount: Int
        /// How many finished jobs the queue keeps, unless a job says otherwise.
        package var keptCompleted: Int
        package var completedAge: Duration
        package var keptFailed: Int
        package var failedAge: Duration
        /// How many minutes of counts of ended jobs the queue keeps for dashboards; 0 for none.
        package var metricsMinutes: Int
        /// The most jobs that all workers of the queue start in a window; the queue's own limit goes before.
        package var rateLimit: QueueRateLimit?

        package init(
            lockDuration: Duration = .seconds(30),
            stalledInterval: Duration = .seconds(30),
            maxStalledCount: Int = 10,
            keptCompleted: Int = 1000,
            completedAge: Duration = .seconds(3600),
            keptFailed: Int = 5000,
            failedAge: Duration = .seconds(7 * 86_400),
            metricsMinutes: Int = 1440,
            rateLimit: QueueRateLimit? = nil
        ) {
            self.lockDuration = lockDuration
            self.stalledInterval = stalledInterval
            self.maxStalledCount = maxStalledCount
            self.keptCompleted = keptCompleted
            self.completedAge = completedAge
            self.keptFailed = keptFailed
            self.failedAge = failedAge
            self.metricsMinutes = metricsMinutes
            self.rateLimit = rateLimit
        }
    }

    /// The most jobs of one script call: a longer one would hold up everybody else.
    static let groupLimit = 1000

    let queue: JobQueue
    let connection: QueueConnection
    let options: Options
    let metrics: QueueMetrics
    private let logger: Logger
    private let workerName: String
    private let blocking: RedisClient
    let tokenBase: String
    private let claims = Atomic<Int>(0)

    /// - Parameters:
    ///   - blockingURL: the same server again; waiting for work needs a connection of its own.
    ///   - workerName: printable, without spaces; dashboards show it, and jobs name it in `pb`.
    ///   - tokenBase: unlike that of any other worker; random when not given.
    package init(
        queue: JobQueue,
        redis: RedisClient,
        blockingURL: RedisURL,
        workerName: String,
        options: Options = Options(),
        tokenBase: String? = nil
    ) {
        self.queue = queue
        connection = QueueConnection(redis: redis, name: queue.name, clock: queue.connection.clock)
        self.options = options
        self.workerName = workerName
        metrics = queue.metrics
        logger = queue.telemetry.logger
        self.tokenBase =
            tokenBase
            ?? UUIDBits(high: .random(in: 0...UInt64.max), low: .random(in: 0...UInt64.max)).description
        blocking = RedisClient(
            url: blockingURL,
            options: RedisClient.Options(
                connectionName: queue.name.connectionName(worker: workerName),
                label: "queue-wait"
            ),
            telemetry: queue.telemetry
        )
    }

    /// Takes up to `limit` jobs (at most 1000) after promoting the delayed ones that are due.
    ///
    /// Jobs without a priority come first, but while prioritized ones wait they take at most three quarters of a group.
    /// - Parameter prioritizedLimit: the most prioritized jobs to take, for a worker that keeps room for the others.
    package func claim(
        limit: Int,
        prioritizedLimit: Int? = nil
    ) async throws(JobQueueError) -> ClaimResult {
        let limit = min(max(limit, 0), Self.groupLimit)
        let token = "\(tokenBase):\(claims.wrappingAdd(1, ordering: .relaxed).newValue)"
        let reply = try await connection.run(
            QueueScripts.claim,
            [
                .string(token), .integer(options.lockDuration.milliseconds), .string(workerName), .init(limit),
                .init(min(max(prioritizedLimit ?? limit, 0), limit)), options.rateLimit.map { .init($0.max) } ?? "",
                options.rateLimit.map { .integer($0.duration.milliseconds) } ?? "",
            ]
        )
        let taken = try reply.reading { reply throws(RedisError) in try TakenJobs(reply) }
        let jobs = try await read(taken.ids, token: token)
        // A job that is gone now was deleted by somebody in the very moment it was taken.
        let dropped = taken.dropped + taken.ids.count - jobs.count
        metrics.claimed.increment(by: jobs.count)
        if dropped > 0 {
            metrics.dropped.increment(by: dropped)
            logger.warning("ids without a job dropped", ["count": .integer(dropped)])
        }
        await planSchedulers(for: jobs)
        return ClaimResult(
            jobs: jobs,
            nextDue: taken.nextDue,
            isPaused: taken.isPaused,
            limitedFor: taken.limitedFor
        )
    }

    /// Reads jobs that were just taken. Outside the script, because there every field would be turned into a Lua string and back.
    private func read(_ ids: [String], token: String) async throws(JobQueueError) -> [ClaimedJob] {
        guard !ids.isEmpty else { return [] }
        let commands = ids.map { id in
            RedisCommand(["HMGET", .string(connection.name.keyPrefix + id)] + ClaimedJob.fields)
        }
        let replies = try await connection.translating { () async throws(RedisError) -> [RedisReply] in
            do throws(RedisError) {
                return try await connection.redis.pipeline(commands)
            } catch {
                // The jobs are locked already: rather than let them wait for the end of their locks, ask once more.
                guard error.code == .connectionLost else { throw error }
                return try await connection.redis.pipeline(commands)
            }
        }
        var jobs: [ClaimedJob] = []
        jobs.reserveCapacity(ids.count)
        for (id, reply) in zip(ids, replies) {
            let job = try reply.reading { reply throws(RedisError) in
                try ClaimedJob(id: id, token: token, values: reply.checked().requireArray("claim"))
            }
            if let job { jobs.append(job) }
        }
        return jobs
    }

    /// Returns when there may be work: a worker was called, the time of the next delayed job has come, or `upTo` is over.
    ///
    /// Only a hint. After it, claim, whatever woke it.
    package func waitForWork(upTo: Duration, nextDue: Timestamp?) async {
        var milliseconds = max(upTo.milliseconds, 2)
        if let nextDue { milliseconds = min(milliseconds, (nextDue - connection.clock.now).milliseconds) }
        // Nothing below 2 ms: old servers take it for zero, and zero would mean for ever.
        guard milliseconds >= 2 else { return }
        let thousandths = String(1000 + milliseconds % 1000).dropFirst()
        let command = RedisCommand([
            "BZPOPMIN", .string(connection.name.keyPrefix + "marker"), .string("\(milliseconds / 1000).\(thousandths)"),
        ])
        do throws(RedisError) {
            _ = try await blocking.send(command, timeout: .milliseconds(milliseconds) + .seconds(2))
        } catch {
            // Closed by a stop.
            guard error.code != .closed else { return }
            metrics.waitErrors.increment()
            // The client counts and logs why. Without this pause a broken connection would make the worker spin.
            try? await Task.sleep(for: .milliseconds(min(milliseconds, 100)))
        }
    }

    /// Renews locks.
    /// - Returns: the ids whose lock is gone: their work must not be recorded as ours.
    package func extend(_ jobs: [LockedJob]) async throws(JobQueueError) -> [String] {
        var lost: [String] = []
        for start in stride(from: 0, to: jobs.count, by: Self.groupLimit) {
            let group = jobs[start..<min(start + Self.groupLimit, jobs.count)]
            var arguments: [RedisArgument] = [.integer(options.lockDuration.milliseconds), .init(group.count)]
            for job in group { arguments += [.string(job.id), .string(job.token)] }
            let reply = try await connection.run(QueueScripts.extend, arguments)
            lost += try reply.reading { reply throws(RedisError) in
                try reply.requireArray("extend").compactMap(\.string)
            }
        }
        metrics.locksLost.increment(by: lost.count)
        return lost
    }

    /// Brings back jobs whose worker is gone. Cheap when another worker did it within the interval.
    package func recoverStalled() async throws(JobQueueError) -> StalledJobs {
        let reply = try await connection.run(
            QueueScripts.stalled,
            [
                .integer(options.stalledInterval.milliseconds), .init(options.maxStalledCount),
                .integer(options.lockDuration.milliseconds),
            ]
        )
        let stalled = try reply.reading { reply throws(RedisError) in
            let parts = try reply.requireArray("stalled")
            guard parts.count == 3 else { throw RedisError(.unexpectedReply, "stalled: three parts are expected") }
            return StalledJobs(
                recovered: try parts[0].requireArray("stalled").compactMap(\.string),
                failing: try parts[1].requireInt("stalled"),
                dropped: try parts[2].requireArray("stalled").compactMap(\.string)
            )
        }
        metrics.recovered.increment(by: stalled.recovered.count)
        metrics.dropped.increment(by: stalled.dropped.count)
        if !stalled.recovered.isEmpty {
            logger.warning(
                "stalled jobs recovered",
                ["count": .integer(stalled.recovered.count), "failing": .integer(stalled.failing)]
            )
        }
        return stalled
    }

    /// Closes the connection that waits for work. The other one belongs to the caller.
    package func close() async {
        await blocking.close()
    }
}

/// What claim.lua answers.
private struct TakenJobs {
    let ids: [String]
    let nextDue: Timestamp?
    let isPaused: Bool
    let limitedFor: Duration?
    let dropped: Int

    init(_ reply: RedisReply) throws(RedisError) {
        let parts = try reply.requireArray("claim")
        guard parts.count == 5 else { throw RedisError(.unexpectedReply, "claim: five parts are expected") }
        ids = try parts[0].requireArray("claim").compactMap(\.string)
        let due = try parts[1].requireInt("claim")
        nextDue = due > 0 ? Timestamp(milliseconds: Int64(due)) : nil
        isPaused = try parts[2].requireInt("claim") == 1
        let milliseconds = try parts[3].requireInt("claim")
        limitedFor = milliseconds > 0 ? .milliseconds(milliseconds) : nil
        dropped = try parts[4].requireInt("claim")
    }
}
