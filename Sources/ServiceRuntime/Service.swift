package import Observability
import Synchronization

/// What the body of a service is given: it builds the parts, registers the long-lived tasks and returns.
package final class Service: Sendable {
    /// A long-lived task.
    struct Registration: Sendable {
        let name: String
        let mayFinish: Bool
        let body: @Sendable (StopSignal) async throws -> Void
    }

    private struct State {
        var tasks: [Registration] = []
        var cleanups: [@Sendable () async -> Void] = []
        var reloads: [@Sendable () -> Void] = []
        var liveness: [(name: String, problem: @Sendable () -> String?)] = []
    }

    /// The name of the process, as in its log lines.
    package let name: String
    package let telemetry: Telemetry
    /// Requested by SIGTERM, SIGINT, the end of a task, or by `stop.request(reason:)`.
    package let stop: StopSignal
    /// How long after `stop` the tasks may take before they are cancelled (`STOP_DEADLINE`). What a service waits for at its
    /// end has to fit in, with time left to record it.
    package let stopDeadline: Duration
    private let state = Mutex(State())

    package init(
        name: String,
        telemetry: Telemetry,
        stop: StopSignal = StopSignal(),
        stopDeadline: Duration = .seconds(20)
    ) {
        self.stopDeadline = stopDeadline
        self.name = name
        self.telemetry = telemetry
        self.stop = stop
    }

    /// Registers a task that runs from the moment the body returned until the stop was requested.
    ///
    /// A task that throws, or returns before a stop was requested, ends the service with code 70; the other tasks are
    /// stopped in order first.
    /// - Parameters:
    ///   - name: shown in the log.
    ///   - mayFinish: allows the task to return early.
    ///   - body: must return soon after the signal was given; it is cancelled when the stop deadline has passed.
    package func task(
        _ name: String,
        mayFinish: Bool = false,
        _ body: @escaping @Sendable (StopSignal) async throws -> Void
    ) {
        state.withLock { $0.tasks.append(Registration(name: name, mayFinish: mayFinish, body: body)) }
    }

    /// Registers what is closed after every task has ended, the last registered first.
    package func cleanup(_ body: @escaping @Sendable () async -> Void) {
        state.withLock { $0.cleanups.append(body) }
    }

    /// Registers what SIGHUP does. It must return quickly.
    package func onReload(_ handler: @escaping @Sendable () -> Void) {
        state.withLock { $0.reloads.append(handler) }
    }

    /// Registers a condition of life: while one has a problem the watchdog is not kicked, and systemd starts the process
    /// anew. For a loop that no longer turns, not for a server that is away: that is readiness, see `HealthBoard`.
    package func liveness(_ name: String, problem: @escaping @Sendable () -> String?) {
        state.withLock { $0.liveness.append((name, problem)) }
    }

    /// The conditions of life that do not hold.
    package var lifeProblems: [(name: String, problem: String)] {
        let checks = state.withLock { $0.liveness }
        return checks.compactMap { check in check.problem().map { (name: check.name, problem: $0) } }
    }

    var tasks: [Registration] { state.withLock { $0.tasks } }

    var cleanups: [@Sendable () async -> Void] { state.withLock { $0.cleanups } }

    func reload() {
        for handler in state.withLock({ $0.reloads }) { handler() }
    }
}
