/// Exit codes of the processes, from `sysexits.h`.
package enum ExitCode {
    /// Everything stopped in time and in order.
    package static let clean: Int32 = 0
    /// `EX_SOFTWARE`: a task crashed, the start failed, or the stop deadline passed.
    package static let failed: Int32 = 70
    /// `EX_CONFIG`: the configuration is wrong; starting again would not help.
    package static let configuration: Int32 = 78
}

/// Decides what a process does when something happens to it: a pure state machine without clock, task or signal.
///
/// The life of a process: starting → running → stopping → (cancelling) → ended.
struct Lifecycle {
    enum Event: Equatable {
        /// The body has registered its tasks.
        case started
        /// The body failed before its tasks ran.
        case startFailed(String, exitCode: Int32)
        case taskEnded(Int, problem: String?)
        /// SIGTERM or SIGINT. A second one means: now.
        case signalled(String)
        /// A part of the process asked for its end.
        case stopRequested(String)
        /// The stop deadline passed, or after cancellation the short time that cancelled tasks get.
        case deadlinePassed
    }

    enum Action: Equatable {
        case runTasks
        case announceReady
        /// Tells the tasks to stop and starts the stop deadline.
        case beginStop(reason: String)
        /// Cancels the tasks that still run and starts the last short deadline.
        case cancelTasks([Int])
        case logCrash(task: Int, problem: String)
        case logStartFailure(String)
        case exit(Int32, leftBehind: [Int])
    }

    private enum Phase: Equatable {
        case starting
        case running
        case stopping
        case cancelling
        case ended
    }

    private var phase = Phase.starting
    private var tasks: Set<Int> = []
    private var wasSignalled = false
    private var exitCode = ExitCode.clean

    /// Declares a task that the body registered.
    mutating func register(_ task: Int) {
        tasks.insert(task)
    }

    mutating func handle(_ event: Event) -> [Action] {
        switch event {
        case .started: started()
        case .startFailed(let problem, let code): startFailed(problem, code)
        case .taskEnded(let task, let problem): taskEnded(task, problem)
        case .signalled(let signal): signalled(signal)
        case .stopRequested(let reason): stopRequested(reason)
        case .deadlinePassed: deadlinePassed()
        }
    }

    private mutating func started() -> [Action] {
        switch phase {
        case .starting:
            phase = .running
            return tasks.isEmpty ? [.announceReady] + end() : [.runTasks, .announceReady]
        case .stopping, .cancelling:
            // Told to stop while starting: the tasks never run.
            tasks = []
            return end()
        case .running, .ended:
            return []
        }
    }

    private mutating func startFailed(_ problem: String, _ code: Int32) -> [Action] {
        guard phase != .ended else { return [] }
        // A start that fails because it was cancelled while stopping is no failure of its own.
        if phase == .starting { exitCode = code }
        let log: [Action] = phase == .starting ? [.logStartFailure(problem)] : []
        return log + end()
    }

    private mutating func taskEnded(_ task: Int, _ problem: String?) -> [Action] {
        guard phase != .ended, tasks.remove(task) != nil else { return [] }
        var actions: [Action] = []
        if let problem {
            exitCode = ExitCode.failed
            actions.append(.logCrash(task: task, problem: problem))
            if phase == .running { actions += stopRequested("a task ended") }
        }
        return tasks.isEmpty && phase != .starting ? actions + end() : actions
    }

    private mutating func signalled(_ signal: String) -> [Action] {
        defer { wasSignalled = true }
        return wasSignalled && phase == .stopping ? deadlinePassed() : stopRequested(signal)
    }

    private mutating func stopRequested(_ reason: String) -> [Action] {
        switch phase {
        case .starting, .running:
            phase = .stopping
            return [.beginStop(reason: reason)]
        case .stopping, .cancelling, .ended:
            return []
        }
    }

    private mutating func deadlinePassed() -> [Action] {
        switch phase {
        case .stopping:
            phase = .cancelling
            exitCode = ExitCode.failed
            return [.cancelTasks(tasks.sorted())]
        case .cancelling:
            return end()
        case .starting, .running, .ended:
            return []
        }
    }

    private mutating func end() -> [Action] {
        phase = .ended
        return [.exit(exitCode, leftBehind: tasks.sorted())]
    }
}
