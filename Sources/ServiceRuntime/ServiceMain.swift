import Glibc
import Kernel
import Observability

/// The main function of every service: configuration, signals, tasks, exit code.
///
/// ```swift
/// @main
/// struct DeliveryWorker {
///     static func main() {
///         ServiceMain.run(name: "delivery-worker", configure: WorkerConfig.init(reading:)) { config, service in
///             let wiring = try await Wiring(config, telemetry: service.telemetry)
///             service.task("engine") { stop in try await wiring.engine.run(until: stop) }
///             service.cleanup { await wiring.close() }
///         }
///     }
/// }
/// ```
package enum ServiceMain {
    /// Runs the process and never returns.
    ///
    /// With the argument `--check-config` it prints the effective configuration and ends.
    /// - Parameters:
    ///   - name: the name of the process, as in its log lines.
    ///   - configure: reads the settings; need not call `finish()`.
    ///   - body: builds the parts, registers the long-lived tasks with the service and returns. A `ConfigError` it throws
    ///     ends the process with 78, every other error with 70.
    package static func run<Config: Sendable>(
        name: String,
        configure: @escaping @Sendable (ConfigReader) throws -> Config,
        body: @escaping @Sendable (Config, Service) async throws -> Void
    ) -> Never {
        // First of all, so that a signal that comes now waits instead of killing the process half started.
        let signals = ProcessSignals()
        let heap = HeapKeeper()
        let reader = ConfigReader(environment: ProcessEnvironment.variables)
        let config: Config
        let common: CommonSettings
        do {
            common = CommonSettings(reading: reader)
            let read = Result { try configure(reader) }
            // A problem found on the way explains more than what the configuration threw because of it.
            try reader.finish()
            config = try read.get()
        } catch {
            complain("\(name): \(error)")
            exit(ExitCode.configuration)
        }
        if CommandLine.arguments.contains("--check-config") {
            show(reader)
            exit(ExitCode.clean)
        }
        let logger = Logger(service: name, level: common.logLevel)
        warn(of: reader.suspects(), logger)
        let service = Service(name: name, telemetry: Telemetry(logger: logger), stopDeadline: common.stopDeadline)
        let runner = ServiceRunner(service: service, stopDeadline: common.stopDeadline)
        Task.detached(name: "heap") { await heap.run() }
        Task.detached(name: "service") {
            let code = await runner.run { service in try await body(config, service) }
            // Not exit(): its handlers would tear down C libraries under threads that may still run.
            _exit(code)
        }
        while true {
            switch signals.next() {
            case .stop(let signal): runner.signalled(signal)
            case .reload:
                logger.info("reloading")
                service.reload()
            }
        }
    }

    private static func warn(of suspects: [ConfigReader.Suspect], _ logger: Logger) {
        for suspect in suspects {
            logger.warning(
                "environment variable is read by nobody",
                ["name": .string(suspect.name), "did_you_mean": .optional(suspect.suggestion)]
            )
        }
    }

    private static func show(_ reader: ConfigReader) {
        var text = ""
        for setting in reader.effective {
            text += "\(setting.name)=\(setting.shown)\(setting.isDefault ? "  (default)" : "")\n"
        }
        for suspect in reader.suspects() {
            let hint = suspect.suggestion.map { ", did you mean \($0)?" } ?? ""
            text += "# \(suspect.name) is read by nobody\(hint)\n"
        }
        put(text, to: STDOUT_FILENO)
    }

    private static func complain(_ text: String) {
        put(text + "\n", to: STDERR_FILENO)
    }

    private static func put(_ text: String, to descriptor: Int32) {
        let bytes = Array(text.utf8)
        _ = write(descriptor, bytes, bytes.count)
    }
}

/// The settings every service has.
struct CommonSettings {
    let logLevel: LogLevel
    let stopDeadline: Duration

    init(reading reader: ConfigReader) {
        let level = reader.choice("LOG_LEVEL", default: LevelName.info)
        logLevel = LogLevel(name: level.rawValue) ?? .info
        stopDeadline = reader.duration("STOP_DEADLINE", default: .seconds(20), in: .seconds(1)...(.seconds(600)))
    }

    private enum LevelName: String, CaseIterable {
        case debug, info, warning, error
    }
}

/// The environment of this process.
package enum ProcessEnvironment {
    package static var variables: [String: String] {
        var variables: [String: String] = [:]
        var entry: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> = environ
        while let text = entry.pointee {
            let pair = String(cString: text)
            if let equals = pair.firstIndex(of: "=") {
                variables[String(pair[..<equals])] = String(pair[pair.index(after: equals)...])
            }
            entry = entry.successor()
        }
        return variables
    }
}
