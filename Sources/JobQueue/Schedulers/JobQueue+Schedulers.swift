package import Kernel
import RedisClient

extension JobQueue {
    /// Makes a scheduler, or gives an existing one another rhythm, name, data or options. The run that waited gives way to
    /// the first of the new schedule; a run that is active goes on.
    /// - Parameters:
    ///   - id: 1 to 256 bytes without a colon.
    ///   - job: what every run gets. Its `jobID`, `delay` and `timestamp` do not count.
    /// - Returns: when the next run is due.
    /// - Throws: `invalidSchedule`; `schedulerCollision` or `schedulerBusy` when the run's id belongs to another job.
    @discardableResult
    package func upsertScheduler(
        _ id: String,
        _ schedule: Schedule,
        job: NewJob
    ) async throws(JobQueueError) -> Timestamp {
        guard !id.isEmpty, id.utf8.count <= 256, !id.contains(":"), !id.utf8.contains(0) else {
            throw JobQueueError(.invalidID, "a scheduler id has 1 to 256 bytes and no colon")
        }
        let now = connection.clock.now
        guard !job.options.isRelated else {
            throw JobQueueError(.invalidSchedule, "runs of a scheduler have neither parent nor deduplication id")
        }
        var template = job.options
        template.jobID = nil
        template.delay = .zero
        template.timestamp = nil
        try template.check(timestamp: now)
        let first = try schedule.first(now: now)
        let isPattern = if case .pattern = schedule.rhythm { true } else { false }
        let second = isPattern ? nil : try schedule.next(after: first, now: now, iterations: 0)
        func options(_ time: Timestamp) -> RedisArgument {
            .string(
                JobScheduler.runOptions(
                    template: template.json,
                    scheduler: id,
                    schedule: schedule,
                    timeZone: isPattern ? "UTC" : nil,
                    time: time,
                    now: now,
                    count: 1
                )
            )
        }
        let fields = Self.fields(schedule, job: job, template: template, first: first)
        let reply = try await connection.run(
            QueueScripts.schedulerUpsert,
            now: now,
            [
                .string(id), .integer(first.milliseconds), second.map { .integer($0.milliseconds) } ?? "",
                .string(job.data), options(first), second.map(options) ?? "", .init(fields.count / 2),
            ] + fields
        )
        let code = try reply.reading { reply throws(RedisError) in try reply.requireInt("scheduler-upsert") }
        switch code {
        case -10: throw JobQueueError(.schedulerCollision, "the next run of scheduler \(id) has the id of another job")
        case -11: throw JobQueueError(.schedulerBusy, "the next two runs of scheduler \(id) are there already")
        default: return Timestamp(milliseconds: Int64(code))
        }
    }

    /// Removes a scheduler and the run that waits. A run that is active goes on and plans no other.
    /// - Returns: whether there was one.
    package func removeScheduler(_ id: String) async throws(JobQueueError) -> Bool {
        try await code(of: QueueScripts.schedulerRemove, [.string(id)]) == 1
    }

    /// One scheduler, `nil` when there is none of this id or it cannot be read.
    package func scheduler(_ id: String) async throws(JobQueueError) -> JobScheduler? {
        try await schedulers([id]).first ?? nil
    }

    /// Schedulers in the order of their next runs.
    /// - Parameter limit: at most 1000.
    package func schedulers(from first: Int = 0, limit: Int = 100) async throws(JobQueueError) -> [JobScheduler] {
        let last = first + min(max(limit, 1), 1000) - 1
        let ids = try await connection.send(["ZRANGE", key("repeat"), .init(first), .init(last)]).reading {
            reply throws(RedisError) in try reply.requireArray("schedulers").compactMap(\.string)
        }
        return try await schedulers(ids).compactMap { $0 }
    }

    /// Those whose next run should have been taken long ago.
    func overdueSchedulers(before moment: Timestamp, limit: Int) async throws(JobQueueError) -> [JobScheduler] {
        let ids = try await connection.send([
            "ZRANGEBYSCORE", key("repeat"), "-inf", .integer(moment.milliseconds), "LIMIT", 0, .init(limit),
        ]).reading { reply throws(RedisError) in try reply.requireArray("schedulers").compactMap(\.string) }
        return try await schedulers(ids).compactMap { $0 }
    }

    private func schedulers(_ ids: [String]) async throws(JobQueueError) -> [JobScheduler?] {
        let replies = try await connection.pipeline(
            ids.flatMap { id in
                [["HGETALL", key("repeat:\(id)")], ["ZSCORE", key("repeat"), .string(id)]]
            }
        )
        var result: [JobScheduler?] = []
        for (index, id) in ids.enumerated() {
            let fields = try replies[index * 2].reading { reply throws(RedisError) in
                try reply.checked().requireFields("scheduler")
            }
            let next = replies[index * 2 + 1].string.flatMap { Double($0) }
            result.append(
                JobScheduler(id: id, fields: fields, next: next.map { Timestamp(milliseconds: Int64($0)) })
            )
        }
        return result
    }

    private static func fields(
        _ schedule: Schedule,
        job: NewJob,
        template: JobOptions,
        first: Timestamp
    ) -> [RedisArgument] {
        var fields: [RedisArgument] = ["name", .string(job.name), "data", .string(job.data)]
        if template != JobOptions() { fields += ["opts", .string(template.json)] }
        switch schedule.rhythm {
        case .every(let interval, _): fields += ["every", .integer(interval.milliseconds)]
        case .pattern(let pattern): fields += ["pattern", .string(pattern), "tz", "UTC"]
        }
        fields += ["offset", .integer(schedule.phase(first: first))]
        if let limit = schedule.limit { fields += ["limit", .init(limit)] }
        if let start = schedule.startDate { fields += ["startDate", .integer(start.milliseconds)] }
        if let end = schedule.endDate { fields += ["endDate", .integer(end.milliseconds)] }
        return fields
    }
}
