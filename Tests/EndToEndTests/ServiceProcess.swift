import Foundation
import Synchronization
import Testing

/// A service of ours, run from the build folder as a process of its own.
final class ServiceProcess: Sendable {
    private let process: Mutex<Process>
    private let exit: ExitSignal
    let log: URL

    /// - Parameter folder: where its standard error is kept.
    init(_ name: String, arguments: [String] = [], environment: [String: String], folder: URL) throws {
        guard let binaries = ProcessInfo.processInfo.environment["VARSEL_TEST_BIN"] else {
            throw StageError(description: "VARSEL_TEST_BIN is not set: run the tests with ./scripts/test")
        }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: binaries).appendingPathComponent(name)
        process.arguments = arguments
        process.environment = environment
        log = folder.appendingPathComponent("\(name)-\(UUID().uuidString.prefix(8)).log")
        _ = FileManager.default.createFile(atPath: log.path, contents: nil)
        process.standardError = try FileHandle(forWritingTo: log)
        process.standardOutput = process.standardError
        process.standardInput = FileHandle.nullDevice
        let exit = ExitSignal()
        process.terminationHandler = { exit.set($0.terminationStatus) }
        try process.run()
        self.exit = exit
        self.process = Mutex(process)
    }

    var identifier: Int32 { process.withLock { $0.processIdentifier } }
    var isRunning: Bool { process.withLock { $0.isRunning } }
    var output: String { (try? String(contentsOf: log, encoding: .utf8)) ?? "" }

    func send(_ signal: Int32) {
        kill(identifier, signal)
    }

    /// Waits for its end and answers the exit code or the signal's number.
    func ended() async -> Int32 { await exit.wait() }
}

/// The processes of a stage.
final class ProcessList: Sendable {
    private let processes = Mutex<[ServiceProcess]>([])

    func add(_ process: ServiceProcess) {
        processes.withLock { $0.append(process) }
    }

    func endAll() async {
        for process in processes.withLock({ $0 }) where process.isRunning {
            process.send(SIGKILL)
            _ = await process.ended()
        }
    }
}

private final class ExitSignal: Sendable {
    private struct State {
        var code: Int32?
        var waiters: [CheckedContinuation<Int32, Never>] = []
    }

    private let state = Mutex(State())

    func set(_ code: Int32) {
        let waiters = state.withLock { state in
            state.code = code
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: code) }
    }

    func wait() async -> Int32 {
        await withCheckedContinuation { continuation in
            let code = state.withLock { state -> Int32? in
                if state.code == nil { state.waiters.append(continuation) }
                return state.code
            }
            if let code { continuation.resume(returning: code) }
        }
    }
}
