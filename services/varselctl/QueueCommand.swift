import JobQueue
import Kernel
import Observability
import RedisClient
import ServiceRuntime

/// The check found something; the report has told what.
struct QueueDamage: Error, CustomStringConvertible {
    let description = "the queue needs a look, see docs/bullmq.md"
}

/// What varselctl does with the queue.
enum QueueCommand: Equatable {
    case stats
    case check(repairGhosts: Bool)
    case pause
    case resume
    case retryFailed

    init(parsing arguments: [String]) throws(UsageError) {
        switch arguments {
        case ["stats"]: self = .stats
        case ["check"]: self = .check(repairGhosts: false)
        case ["check", "--repair-ghosts"]: self = .check(repairGhosts: true)
        case ["pause"]: self = .pause
        case ["resume"]: self = .resume
        case ["retry-failed"]: self = .retryFailed
        default:
            throw UsageError(
                description: "varselctl queue knows stats, check [--repair-ghosts], pause, resume, retry-failed"
            )
        }
    }

    func run(environment: [String: String]) async throws {
        try await withQueue(environment) { queue in
            switch self {
            case .stats: Terminal.say(try await Self.stats(of: queue))
            case .check(let repairGhosts):
                let report = try await QueueInspector(queue: queue).run(repairGhosts: repairGhosts)
                Terminal.say(report.text)
                guard report.isClean else { throw QueueDamage() }
            case .pause:
                try await queue.pause()
                Terminal.say("\(queue.name) is paused; jobs that are active go on")
            case .resume:
                try await queue.resume()
                Terminal.say("\(queue.name) goes on")
            case .retryFailed:
                Terminal.say("jobs that run again: \(try await queue.retryAll(.failed))")
            }
        }
    }

    private static func stats(of queue: JobQueue) async throws -> String {
        let counts = try await queue.counts()
        var lines = [
            "queue \(queue.name)",
            "  waiting \(counts.waiting), paused \(counts.paused), prioritized \(counts.prioritized), "
                + "delayed \(counts.delayed), active \(counts.active)",
            "  completed \(counts.completed), failed \(counts.failed), waiting-children \(counts.waitingChildren)",
            "  paused: \(try await queue.isPaused() ? "yes" : "no")",
        ]
        if let limit = try await queue.globalConcurrency() { lines.append("  at most active: \(limit)") }
        if let limit = try await queue.globalRateLimit() {
            lines.append("  at most begun: \(limit.max) in \(limit.duration.milliseconds) ms")
        }
        for age in try await queue.oldestAges() {
            let name = age.priority == 0 ? "without priority" : "of priority \(age.priority)"
            lines.append("  next job \(name): ready for \(age.age.milliseconds) ms")
        }
        let workers = try await queue.workers()
        lines.append("  workers: \(workers.isEmpty ? "none" : "\(workers.count)")")
        lines += workers.map {
            "    \($0.name ?? "without a name") at \($0.address), idle \($0.idle.milliseconds / 1000) s"
        }
        let schedulers = try await queue.schedulers()
        if !schedulers.isEmpty { lines.append("  schedulers: \(schedulers.count)") }
        lines += schedulers.map { "    \($0.id), next run \($0.next?.description ?? "never")" }
        return lines.joined(separator: "\n")
    }

    private func withQueue(
        _ environment: [String: String],
        _ body: (JobQueue) async throws -> Void
    ) async throws {
        let reader = ConfigReader(environment: environment)
        let url = reader.required("REDIS_URL", "Set the URL of the queue's Redis, such as redis://127.0.0.1:6379.") {
            try RedisURL(parsing: $0)
        }
        let prefix = reader.string("QUEUE_PREFIX", default: "bull")
        let name = reader.string("QUEUE_NAME", default: "notification-deliver")
        try reader.finish()
        let telemetry = Telemetry(logger: Logger(service: "varselctl", level: .error))
        var options = RedisClient.Options()
        options.commandTimeout = .seconds(30)
        let redis = RedisClient(url: try url.value, options: options, telemetry: telemetry)
        do {
            try await body(
                JobQueue(redis: redis, name: try QueueName(prefix: prefix, name: name), telemetry: telemetry)
            )
        } catch {
            await redis.close()
            throw error
        }
        await redis.close()
    }
}
