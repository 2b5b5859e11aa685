import Foundation

/// Load and measurement for `scripts/bench`, which starts the servers and gives their addresses by environment variables.
@main
struct Bench {
    static func main() async {
        do {
            switch CommandLine.arguments.dropFirst().first {
            case "engine":
                let part = CommandLine.arguments.dropFirst(2).first ?? ""
                try await EngineBench(environment: ProcessInfo.processInfo.environment).run(part)
            case "queue": try await QueueBench(environment: ProcessInfo.processInfo.environment).run()
            case "kit": try KitBench(environment: ProcessInfo.processInfo.environment).run()
            case "gateway": try GatewayBench(environment: ProcessInfo.processInfo.environment).prepare()
            case "webhook": try await WebhookBench(environment: ProcessInfo.processInfo.environment).run()
            case "push":
                let part = CommandLine.arguments.dropFirst(2).first ?? ""
                try await PushBench(environment: ProcessInfo.processInfo.environment).run(part)
            default:
                throw BenchError(
                    description:
                        "usage: Bench engine seed|measure|steady|idle|groups | queue | kit | gateway | webhook | push throughput|rtt80|soak"
                )
            }
        } catch {
            FileHandle.standardError.write(Data("Bench: \(error)\n".utf8))
            exit(1)
        }
    }
}

/// Why nothing was measured.
struct BenchError: Error, CustomStringConvertible {
    let description: String
}
