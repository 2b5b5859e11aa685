import Glibc
import ServiceRuntime

/// The operators' command-line tool.
@main
struct VarselCtl {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        Task.detached {
            exit(await run(arguments))
        }
        while true { pause() }
    }

    /// Runs one command and answers the process's exit code.
    static func run(_ arguments: [String]) async -> Int32 {
        do {
            let command = try Command(parsing: arguments)
            try await command.run(environment: ProcessEnvironment.variables)
            return ExitCode.clean
        } catch let error as UsageError {
            Terminal.complain("\(error)\n\n\(Command.usage)")
            return UsageError.exitCode
        } catch let error as ConfigError {
            Terminal.complain("varselctl: \(error)")
            return ExitCode.configuration
        } catch {
            Terminal.complain("varselctl: \(error)")
            return 1
        }
    }
}
