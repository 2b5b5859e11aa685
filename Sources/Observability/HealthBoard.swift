import Synchronization

/// What a process knows of its own health: named conditions, each ready or not with a reason.
///
/// Liveness asks only whether the process runs; readiness asks whether every condition holds.
package final class HealthBoard: Sendable {
    private let conditions = Mutex<[String: String?]>([:])

    package init() {}

    /// Declares or updates a condition.
    /// - Parameters:
    ///   - name: such as `redis` or `schema`.
    ///   - problem: why it does not hold, `nil` when it does.
    package func set(_ name: String, problem: String?) {
        conditions.withLock { $0[name] = .some(problem) }
    }

    /// The conditions that do not hold, with their reasons, in the order of their names.
    package var problems: [(name: String, reason: String)] {
        conditions.withLock { conditions in
            conditions.compactMap { name, problem in problem.map { (name: name, reason: $0) } }
                .sorted { $0.name < $1.name }
        }
    }

    /// Whether every declared condition holds.
    package var isReady: Bool { problems.isEmpty }
}

/// What every component of a process is given to report with.
package struct Telemetry: Sendable {
    package let logger: Logger
    package let metrics: MetricsRegistry
    package let health: HealthBoard

    package init(logger: Logger, metrics: MetricsRegistry = MetricsRegistry(), health: HealthBoard = HealthBoard()) {
        self.logger = logger
        self.metrics = metrics
        self.health = health
    }

    /// Telemetry that keeps its log in memory, for tests.
    package static func silent(sink: MemorySink = MemorySink()) -> Telemetry {
        Telemetry(logger: Logger(service: "test", level: .debug, sink: sink))
    }
}
