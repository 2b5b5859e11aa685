import Glibc
import ServiceRuntime

/// Reminds users who have been away. One run, started every hour by a timer; `--dry-run` only tells what it would do.
@main
struct ReminderProducerService {
    static func main() {
        let isRehearsal = readArguments()
        ServiceMain.run(name: "reminder-producer", configure: ReminderConfig.init(reading:)) { config, service in
            let wiring = try await Wiring(config, service: service)
            service.task("reminders", mayFinish: true) { stop in
                if isRehearsal { try await wiring.rehearse() } else { try await wiring.run(until: stop) }
            }
            service.cleanup { await wiring.close() }
        }
    }

    /// Whether this is a rehearsal. A misspelt argument must not send reminders.
    private static func readArguments() -> Bool {
        let arguments = CommandLine.arguments.dropFirst().filter { $0 != "--check-config" }
        if arguments.isEmpty { return false }
        if Array(arguments) == ["--dry-run"] { return true }
        let usage = "usage: reminder-producer [--dry-run | --check-config]\n"
        write(STDERR_FILENO, usage, usage.utf8.count)
        // EX_USAGE of sysexits.h.
        exit(64)
    }
}
