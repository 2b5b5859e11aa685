package import Kernel
package import Observability
package import RedisClient

/// A BullMQ queue as producers and operators use it. Workers use `JobConsumer`.
///
/// Keys, fields and events are those of BullMQ 5 and 6, so that its producers, workers and dashboards can share the queue.
package final class JobQueue: Sendable {
    /// How many jobs one script call adds: a longer one would hold up everybody else.
    static let addGroup = 500

    package let name: QueueName
    let connection: QueueConnection
    let telemetry: Telemetry
    let metrics: QueueMetrics

    package init(
        redis: RedisClient,
        name: QueueName,
        clock: any WallClock = SystemWallClock(),
        telemetry: Telemetry
    ) {
        self.name = name
        self.telemetry = telemetry
        connection = QueueConnection(redis: redis, name: name, clock: clock)
        metrics = QueueMetrics(registry: telemetry.metrics, queue: name)
    }

    /// Adds one job.
    package func add(_ job: NewJob) async throws(JobQueueError) -> AddResult {
        let results = try await addBulk([job])
        guard let result = results.first else {
            throw JobQueueError(RedisError(.unexpectedReply, "add: no result", wasSent: true))
        }
        return result
    }

    /// Adds jobs in their order, at most 500 in one atomic step. All are checked before the first is added.
    /// - Throws: when Redis fails in the middle, earlier groups stay added. Adding again is harmless for jobs with ids.
    package func addBulk(_ jobs: [NewJob]) async throws(JobQueueError) -> [AddResult] {
        let now = connection.clock.now
        for job in jobs { try job.options.check(timestamp: job.options.timestamp ?? now) }
        if jobs.contains(where: { $0.options.isRelated }) { return try await addMixed(jobs, now: now) }
        var results: [AddResult] = []
        results.reserveCapacity(jobs.count)
        for start in stride(from: 0, to: jobs.count, by: Self.addGroup) {
            let group = jobs[start..<min(start + Self.addGroup, jobs.count)]
            let reply = try await connection.run(QueueScripts.add, now: now, Self.arguments(group, now: now))
            results += try reply.reading(Self.results)
        }
        let duplicates = results.count(where: \.isDuplicate)
        metrics.added.increment(by: results.count - duplicates)
        metrics.duplicates.increment(by: duplicates)
        return results
    }

    private static func arguments(_ jobs: ArraySlice<NewJob>, now: Timestamp) -> [RedisArgument] {
        var arguments: [RedisArgument] = [.init(jobs.count)]
        arguments.reserveCapacity(1 + jobs.count * 8)
        for job in jobs {
            let options = job.options
            arguments.append(.string(options.jobID ?? ""))
            arguments.append(.string(job.name))
            arguments.append(.string(job.data))
            arguments.append(.string(options.json))
            arguments.append(.integer((options.timestamp ?? now).milliseconds))
            arguments.append(.integer(max(options.delay.milliseconds, 0)))
            arguments.append(.init(options.priority))
            arguments.append(options.lifo ? 1 : 0)
        }
        return arguments
    }

    private static func results(_ reply: RedisReply) throws(RedisError) -> [AddResult] {
        let parts = try reply.requireArray("add")
        guard parts.count == 2 else { throw RedisError(.unexpectedReply, "add: two parts are expected", wasSent: true) }
        var results: [AddResult] = []
        for id in try parts[0].requireArray("add") { results.append(.added(id: try id.requireString("add"))) }
        for index in try parts[1].requireArray("add") {
            let position = try index.requireInt("add") - 1
            guard results.indices.contains(position) else {
                throw RedisError(.unexpectedReply, "add: no job \(position)", wasSent: true)
            }
            results[position] = .duplicate(id: results[position].id)
        }
        return results
    }
}
