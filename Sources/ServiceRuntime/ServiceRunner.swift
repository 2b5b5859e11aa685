import Kernel
import Observability
import Synchronization

/// Carries out what `Lifecycle` decides for one service: runs its tasks, its deadlines and its end.
///
/// Its tasks are unstructured on purpose: a task that ignores its cancellation must not keep the process from ending.
final class ServiceRunner: Sendable {
    private let service: Service
    private let manager: ServiceManager
    private let stopDeadline: Duration
    private let cancelDeadline: Duration
    private let events: AsyncStream<Lifecycle.Event>
    private let continuation: AsyncStream<Lifecycle.Event>.Continuation
    private let running = Mutex<[Int: Task<Void, Never>]>([:])
    private let start = Mutex<Task<Void, Never>?>(nil)

    /// - Parameters:
    ///   - service: whose tasks are run.
    ///   - manager: systemd.
    ///   - stopDeadline: how long the tasks may take to stop before they are cancelled.
    ///   - cancelDeadline: how long cancelled tasks and the cleanups may take before the process leaves them behind.
    init(
        service: Service,
        manager: ServiceManager = ServiceManager(),
        stopDeadline: Duration,
        cancelDeadline: Duration = .seconds(3)
    ) {
        self.service = service
        self.manager = manager
        self.stopDeadline = stopDeadline
        self.cancelDeadline = cancelDeadline
        // A few events a task: the limit is never met, and bounds the memory all the same.
        (events, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(4096))
    }

    /// A signal asked the process to stop; the second one means at once.
    func signalled(_ signal: String) {
        continuation.yield(.signalled(signal))
    }

    /// Runs the service to its end.
    /// - Parameter body: builds the parts and registers the tasks.
    /// - Returns: the exit code of the process.
    func run(_ body: @escaping @Sendable (Service) async throws -> Void) async -> Int32 {
        let task = Task(name: "start") { await self.build(body) }
        start.withLock { $0 = task }
        let (stop, continuation) = (service.stop, continuation)
        stop.onRequest { continuation.yield(.stopRequested(stop.reason ?? "")) }
        let watchdog = Task(name: "watchdog") { await self.keepAlive() }
        defer { watchdog.cancel() }
        var lifecycle = Lifecycle()
        for await event in events {
            if event == .started {
                for index in service.tasks.indices { lifecycle.register(index) }
            }
            for action in lifecycle.handle(event) {
                if let code = await perform(action) { return code }
            }
        }
        return ExitCode.failed
    }

    // MARK: Actions

    /// - Returns: the exit code when this was the end.
    private func perform(_ action: Lifecycle.Action) async -> Int32? {
        let logger = service.telemetry.logger
        switch action {
        case .runTasks: runTasks()
        case .announceReady:
            manager.ready()
            logger.info("service started", ["tasks": .integer(service.tasks.count)])
        case .beginStop(let reason): beginStop(reason)
        case .cancelTasks(let tasks):
            logger.error("stop deadline passed, cancelling", ["tasks": names(tasks)])
            for task in running.withLock({ $0 }).values { task.cancel() }
            post(.deadlinePassed, after: cancelDeadline)
        case .logCrash(let task, let problem):
            logger.error("a task of the service ended", ["task": names([task]), "problem": .string(problem)])
        case .logStartFailure(let problem):
            logger.error("service did not start", ["problem": .string(problem)])
        case .exit(let code, let leftBehind):
            if !leftBehind.isEmpty { logger.error("tasks left behind", ["tasks": names(leftBehind)]) }
            await cleanUp()
            logger.info("service ended", ["exit_code": .integer(code)])
            return code
        }
        return nil
    }

    private func build(_ body: @Sendable (Service) async throws -> Void) async {
        do {
            try await body(service)
            continuation.yield(.started)
        } catch let error as ConfigError {
            continuation.yield(.startFailed(error.description, exitCode: ExitCode.configuration))
        } catch {
            continuation.yield(.startFailed(String(describing: error), exitCode: ExitCode.failed))
        }
    }

    private func runTasks() {
        let service = service
        let continuation = continuation
        for (index, registration) in service.tasks.enumerated() {
            let task = Task(name: registration.name) {
                var problem: String?
                do {
                    try await registration.body(service.stop)
                    if !service.stop.isRequested && !registration.mayFinish {
                        problem = "returned although no stop was requested"
                    }
                } catch is CancellationError where service.stop.isRequested {
                    // Cancelled at the deadline, which was reported then.
                } catch {
                    problem = String(describing: error)
                }
                continuation.yield(.taskEnded(index, problem: problem))
            }
            running.withLock { $0[index] = task }
        }
    }

    private func beginStop(_ reason: String) {
        service.telemetry.logger.info("service stopping", ["reason": .string(reason)])
        manager.stopping(reason: reason, deadline: stopDeadline)
        service.stop.request(reason: reason)
        // A start that is still under way has nothing to finish.
        start.withLock { $0 }?.cancel()
        post(.deadlinePassed, after: stopDeadline)
    }

    private func post(_ event: Lifecycle.Event, after delay: Duration) {
        let continuation = continuation
        Task(name: "deadline") {
            do {
                try await Task.sleep(for: delay)
                continuation.yield(event)
            } catch {
                return  // The process ended first.
            }
        }
    }

    /// Closes what the body opened, the last first, within the short deadline.
    private func cleanUp() async {
        let cleanups = service.cleanups.reversed()
        let done = StopSignal()
        Task(name: "cleanup") {
            for cleanup in cleanups { await cleanup() }
            done.request(reason: "closed")
        }
        if await done.sleep(for: cancelDeadline) {
            service.telemetry.logger.warning("cleanup took too long and was left behind")
        }
    }

    /// Kicks the watchdog at half its interval, while the process lives as it should.
    private func keepAlive() async {
        guard let interval = manager.watchdogInterval else { return }
        while !Task.isCancelled {
            let problems = service.lifeProblems
            if problems.isEmpty {
                manager.alive()
            } else {
                for (name, problem) in problems {
                    let fields: KeyValuePairs<String, JSONValue> = [
                        "check": .string(name), "problem": .string(problem),
                    ]
                    service.telemetry.logger.error("liveness check failed", fields)
                }
            }
            do {
                try await Task.sleep(for: interval / 2)
            } catch {
                return
            }
        }
    }

    private func names(_ tasks: [Int]) -> JSONValue {
        let registered = service.tasks
        return .string(tasks.map { registered[$0].name }.joined(separator: ", "))
    }
}
