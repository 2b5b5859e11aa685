import Foundation
import Kernel
import Observability
import PushTransport
import Signing

/// The push transport against servers that `push.sh` started. Every push has a token and an apns-id of its own, goes through the
/// transport's own send, and its outcome is awaited. Prints one figure a line.
struct PushBench {
    private static let topic = "com.example.impulse"

    private let port: Int
    private let trustedPEM: String
    private let key: SigningKey
    private let teamID: String
    private let count: Int
    private let tokens: [String]
    private let resident: ProcessorTime

    init(environment: [String: String]) throws {
        func value(_ name: String) throws -> String {
            guard let text = environment[name] else { throw BenchError(description: "\(name) is not set") }
            return text
        }
        func number(_ name: String) throws -> Int {
            guard let number = Int(try value(name)) else { throw BenchError(description: "\(name) is no number") }
            return number
        }
        port = try number("BENCH_PORT")
        trustedPEM = try String(contentsOfFile: value("BENCH_CA_FILE"), encoding: .utf8)
        key = try SigningKey(
            pem: String(contentsOfFile: value("BENCH_KEY_FILE"), encoding: .utf8),
            keyID: value("BENCH_KEY_ID")
        )
        teamID = try value("BENCH_TEAM_ID")
        count = try number("BENCH_COUNT")
        tokens = try String(contentsOfFile: value("BENCH_TOKENS"), encoding: .utf8)
            .split(separator: "\n").map(String.init)
        resident = ProcessorTime(process: getpid())
    }

    func run(_ part: String) async throws {
        switch part {
        case "throughput":
            for window in [100, 1000] {
                let figures = try await load(window: window)
                print("req_per_s_\(window)", String(format: "%.0f", figures.rate), "1/s")
                print("cpu_us_per_req_\(window)", String(format: "%.2f", figures.microseconds), "us")
            }
        case "rtt80":
            print("rtt80_req_per_s", String(format: "%.0f", try await load(window: 1000).rate), "1/s")
        case "soak": try await soak()
        default: throw BenchError(description: "usage: Bench push throughput|rtt80|soak")
        }
    }

    /// The rate and the processor time of this process while so many pushes are in flight. The best of three runs: the machine
    /// disturbs, it never helps.
    private func load(window: Int) async throws -> (rate: Double, microseconds: Double) {
        let transport = try transport { $0.streams = window }
        var best: (rate: Double, microseconds: Double) = (0, .infinity)
        for _ in 0..<4 {
            // The first run connects and warms up.
            let isWarmUp = best.rate == 0
            let load = PushLoad(transport: transport, tokens: tokens, topic: Self.topic, repeatsUnknown: false)
            let began = ContinuousClock.now
            let before = resident.microseconds
            let result = await load.run(count: isWarmUp ? max(count / 10, window) : count, window: window)
            let seconds = began.duration(to: .now).inSeconds
            guard result.failed == 0, result.repeated == 0 else {
                throw BenchError(description: "\(result.failed) pushes failed: \(result.firstFailure)")
            }
            let rate = Double(result.accepted) / seconds
            let cost = (resident.microseconds - before) / Double(result.accepted)
            best = isWarmUp ? (0.001, .infinity) : (max(best.rate, rate), min(best.microseconds, cost))
        }
        await transport.close()
        return best
    }

    /// Many pushes while the server breaks connections off. What is unknown is sent again under its id, as the engine does.
    private func soak() async throws {
        let transport = try transport {
            $0.streams = 200
            $0.reconnect = Backoff(base: .milliseconds(10), limit: .milliseconds(100))
        }
        let load = PushLoad(transport: transport, tokens: tokens, topic: Self.topic, repeatsUnknown: true)
        let warm = await load.run(count: count / 10, window: 1000)
        let before = resident.residentMegabytes
        let rest = await load.run(count: count - count / 10, window: 1000)
        let after = resident.residentMegabytes
        await transport.close()
        let failed = warm.failed + rest.failed
        let repeated = warm.repeated + rest.repeated
        say("soak: \(warm.accepted + rest.accepted) accepted, \(repeated) sent again after unknown, \(failed) failed")
        if failed > 0 { say("first failure: \(warm.firstFailure)\(rest.firstFailure)") }
        print("soak_rss_growth_mb", String(format: "%.1f", max(after - before, 0)), "MB")
        // For push.sh, which compares them with what the simulator counted.
        print("soak_accepted", warm.accepted + rest.accepted, "pushes")
        print("soak_repeated", repeated, "pushes")
    }

    private func transport(_ tune: (inout APNsConfiguration) -> Void) throws -> PushTransport {
        var configuration = try APNsConfiguration(
            key: key,
            teamID: teamID,
            host: "127.0.0.1",
            port: port,
            trustedPEM: trustedPEM
        )
        tune(&configuration)
        return PushTransport(
            configuration: configuration,
            telemetry: Telemetry(logger: Logger(service: "bench", level: .error))
        )
    }

    private func say(_ text: String) {
        FileHandle.standardError.write(Data("\(text)\n".utf8))
    }
}
