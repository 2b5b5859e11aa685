import Kernel
import Observability
import RedisClient

extension JobOptions {
    /// Whether the job is bound to others, so that adding it means more than writing it.
    var isRelated: Bool { deduplication != nil || parent != nil }
}

/// One job of add-related.lua.
struct RelatedJob {
    let queue: QueueName
    let job: NewJob
    let waitsForChildren: Bool
    /// The place of its parent in the same call, from 1.
    let parentIndex: Int?

    func append(to arguments: inout [RedisArgument], now: Timestamp) {
        let options = job.options
        arguments += [
            .string(queue.keyPrefix), .string(options.jobID ?? ""), .string(job.name), .string(job.data),
            .string(options.json), .integer((options.timestamp ?? now).milliseconds),
            .integer(max(options.delay.milliseconds, 0)), .init(options.priority), options.lifo ? 1 : 0,
            waitsForChildren ? 1 : 0,
        ]
        if let parentIndex {
            arguments += [.init(parentIndex), "", ""]
        } else if let parent = options.parent {
            arguments += [.string(parent.key), .string("\(parent.queue)"), .string(parent.id)]
        } else {
            arguments += ["", "", ""]
        }
        arguments.append(.string(options.onFailure?.rawValue ?? ""))
        arguments.append(.string(options.deduplication?.scriptJSON ?? ""))
    }
}

extension JobQueue {
    /// How many jobs a tree may have: it is added in one step.
    static let flowLimit = 1000

    /// Adds jobs some of which are bound to others. Runs of plain ones still go the short way; the order stays.
    func addMixed(_ jobs: [NewJob], now: Timestamp) async throws(JobQueueError) -> [AddResult] {
        var results: [AddResult] = []
        results.reserveCapacity(jobs.count)
        var start = 0
        while start < jobs.count {
            let related = jobs[start].options.isRelated
            var end = start + 1
            while end < jobs.count, end - start < Self.addGroup, jobs[end].options.isRelated == related { end += 1 }
            let group = Array(jobs[start..<end])
            if related {
                results += try await addRelated(
                    group.map { RelatedJob(queue: name, job: $0, waitsForChildren: false, parentIndex: nil) },
                    now: now
                )
            } else {
                results += try await addBulk(group)
            }
            start = end
        }
        return results
    }

    /// Adds a parent with its children and theirs, parents first and all in one step, so that no child can end before the
    /// whole tree is there.
    /// - Throws: `missingParent` when the root names a parent that is gone, `parentConflict` when the id of a child belongs
    ///   to another parent; then nothing was added.
    package func addFlow(_ root: FlowJob) async throws(JobQueueError) -> AddedFlow {
        let now = connection.clock.now
        var jobs: [RelatedJob] = []
        try collect(root, under: nil, into: &jobs)
        for related in jobs {
            let options = related.job.options
            try options.check(timestamp: options.timestamp ?? now)
            guard options.deduplication == nil else {
                throw JobQueueError(.invalidFlow, "a job of a flow cannot have a deduplication id")
            }
            guard related.parentIndex == nil || options.parent == nil else {
                throw JobQueueError(.invalidFlow, "a child has the parent that it stands under")
            }
        }
        let results = try await addRelated(jobs, now: now)
        var index = 0
        return tree(root, results, &index)
    }

    /// What a parent knows of its children, `nil` when there is no such job.
    package func children(of id: String) async throws(JobQueueError) -> FlowChildren? {
        try await connection.run(QueueScripts.children, [.string(id)]).reading { reply throws(RedisError) in
            if reply.isNull { return nil }
            let parts = try reply.requireArray("children")
            guard parts.count == 4 else { throw RedisError(.unexpectedReply, "children: four parts are expected") }
            return FlowChildren(
                pending: Set(try parts[0].requireArray("children").compactMap(\.string)),
                completed: try parts[1].requireFields("children"),
                passedOver: try parts[2].requireFields("children"),
                fatal: try parts[3].requireArray("children").compactMap(\.string)
            )
        }
    }

    private func collect(
        _ node: FlowJob,
        under parent: Int?,
        into jobs: inout [RelatedJob]
    ) throws(JobQueueError) {
        guard jobs.count < Self.flowLimit else {
            throw JobQueueError(.invalidFlow, "a flow has at most \(Self.flowLimit) jobs")
        }
        jobs.append(
            RelatedJob(
                queue: node.queue ?? name,
                job: node.job,
                waitsForChildren: !node.children.isEmpty,
                parentIndex: parent
            )
        )
        let index = jobs.count
        for child in node.children { try collect(child, under: index, into: &jobs) }
    }

    private func tree(_ node: FlowJob, _ results: [AddResult], _ index: inout Int) -> AddedFlow {
        let result = results[index]
        index += 1
        return AddedFlow(
            queue: node.queue ?? name,
            result: result,
            children: node.children.map { tree($0, results, &index) }
        )
    }

    private func addRelated(_ jobs: [RelatedJob], now: Timestamp) async throws(JobQueueError) -> [AddResult] {
        var arguments: [RedisArgument] = [.init(jobs.count)]
        arguments.reserveCapacity(1 + jobs.count * 15)
        for job in jobs { job.append(to: &arguments, now: now) }
        let parts = try await connection.run(QueueScripts.addRelated, now: now, arguments).reading {
            reply throws(RedisError) in try reply.requireArray("add-related")
        }
        let code = parts.first?.int ?? 0
        if code < 0 {
            let at = (parts.last?.int ?? 1) - 1
            let name = jobs.indices.contains(at) ? jobs[at].job.name : ""
            throw code == -5
                ? JobQueueError(.missingParent, "the parent of job \"\(name)\" does not exist")
                : JobQueueError(.parentConflict, "the id of job \"\(name)\" belongs to the child of another parent")
        }
        guard parts.count == 1 + jobs.count * 2 else {
            throw JobQueueError(RedisError(.unexpectedReply, "add-related: two parts for each job", wasSent: true))
        }
        var results: [AddResult] = []
        for index in stride(from: 1, to: parts.count, by: 2) {
            let id = parts[index].string ?? ""
            switch parts[index + 1].int {
            case 1: results.append(.added(id: id))
            case 2: results.append(.deduplicated(id: id))
            default: results.append(.duplicate(id: id))
            }
        }
        let duplicates = results.count(where: \.isDuplicate)
        metrics.added.increment(by: results.count - duplicates)
        metrics.duplicates.increment(by: duplicates)
        return results
    }
}
