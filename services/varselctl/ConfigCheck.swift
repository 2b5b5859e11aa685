import Glibc
import ServiceRuntime

/// Asks the services themselves, beside this program, what they think of the configuration.
struct ConfigCheck {
    static let services = ["api-gateway", "delivery-worker", "lifecycle-producer", "reminder-producer"]

    private let names: [String]

    init(service: String?) throws(UsageError) {
        guard let service else {
            names = Self.services
            return
        }
        guard Self.services.contains(service) else {
            throw UsageError(description: "there is no \(service); known are \(Self.services.joined(separator: ", "))")
        }
        names = [service]
    }

    /// - Throws: `ConfigError` naming the services that refuse; they have told why themselves.
    func run(environment: [String: String]) throws {
        var refusing: [String] = []
        for name in names {
            Terminal.say("# \(name)")
            if try runCheck(of: name) != ExitCode.clean { refusing.append(name) }
        }
        guard refusing.isEmpty else {
            throw ConfigError(
                name: refusing.joined(separator: ", "),
                problem: "would not start with this configuration",
                fix: "Mend what is listed above."
            )
        }
    }

    private func runCheck(of name: String) throws -> Int32 {
        let program = try folder() + "/" + name
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(program), strdup("--check-config"), nil]
        defer { for argument in arguments { free(argument) } }
        var child: pid_t = 0
        let code = posix_spawn(&child, program, nil, nil, &arguments, environ)
        guard code == 0 else {
            throw UsageError(description: "\(program) cannot be started: \(String(cString: strerror(code)))")
        }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0 && errno == EINTR {}
        return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
    }

    /// Where this program lies, and the services beside it.
    private func folder() throws(UsageError) -> String {
        var buffer = [CChar](repeating: 0, count: 4096)
        let length = readlink("/proc/self/exe", &buffer, buffer.count)
        guard length > 0 else { throw UsageError(description: "/proc/self/exe cannot be read") }
        let path = String(decoding: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return path.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" }
    }
}
