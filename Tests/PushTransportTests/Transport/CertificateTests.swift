import Foundation
import Kernel
import Notifications
import Observability
import PushSimulator
import Signing
import TestSupport
import Testing

@testable import PushTransport

/// Certificate authentication against the simulator.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct CertificateTests {
    private let certificate: ClientCertificate

    init() throws {
        certificate = try Self.make(days: 20)
    }

    @Test func `a certificate sends without a provider token, and its days are told`() async throws {
        try await PushBench.run(
            simulator: { $0.clientTrustPEM = certificate.certificatePEM },
            certificate: certificate
        ) { bench in
            let outcomes = await bench.sendAll(0..<200)
            #expect(outcomes.notAccepted == [])
            #expect(bench.simulator.connectionCount == 1)
            #expect(bench.telemetry.metrics.counter("apns_provider_tokens_total", help: "").current == 0)
            let days = bench.telemetry.metrics.render().split(separator: "\n")
                .first { $0.hasPrefix("apns_certificate_days_left ") }?.split(separator: " ").last.flatMap { Int($0) }
            #expect((18...20).contains(days ?? 0))
            // Twenty days are fewer than thirty.
            #expect(bench.log.lines.contains { $0.contains("the APNs certificate ends soon") })
        }
    }

    @Test func `a certificate that has ended connects nowhere and is the reason told`() async throws {
        let later = FixedWallClock(SystemWallClock().now + .seconds(21 * 86_400))
        try await PushBench.run(
            simulator: { $0.clientTrustPEM = certificate.certificatePEM },
            transport: { $0.waitingTime = .milliseconds(100) },
            certificate: certificate,
            wallClock: later
        ) { bench in
            #expect(await bench.send(1) == .notSent(reason: "NoConnection", after: .seconds(5)))
            #expect(bench.simulator.connectionCount == 0)
            #expect(bench.transport.health.problems["production"]?.contains("ended at") == true)
        }
    }

    @Test func `a certificate of the wrong environment stops the pool with one alert and no reconnecting`() async throws
    {
        try await PushBench.run(
            simulator: { $0.clientTrustPEM = certificate.certificatePEM },
            transport: { $0.pause = Backoff(base: .seconds(60), limit: .seconds(60)) },
            certificate: certificate
        ) { bench in
            // Apple says it by GOAWAY alone, before any answer.
            bench.simulator.addFault(
                FaultRule(.goAway(lastStreamID: 0, errorCode: 0, reason: "BadCertificateEnvironment"))
            )
            let outcomes = await bench.sendAll(0..<50)
            for outcome in outcomes {
                guard case .notSent("BadCertificateEnvironment", _) = outcome else {
                    Issue.record("\(outcome)")
                    continue
                }
            }
            #expect(bench.simulator.connectionCount == 1)
            #expect(bench.simulator.acceptedCount == 0)
            #expect(bench.transport.health.problems["production"]?.hasPrefix("BadCertificateEnvironment: ") == true)
            let stops = bench.telemetry.metrics.counter(
                "apns_stops_total",
                help: "",
                labels: [("reason", "BadCertificateEnvironment")]
            )
            #expect(stops.current == 1)
        }
    }

    @Test func `a certificate that nobody trusts is a problem told, with growing waits`() async throws {
        let stranger = try Self.make(days: 20)
        try await PushBench.run(
            simulator: { $0.clientTrustPEM = certificate.certificatePEM },
            transport: { $0.waitingTime = .milliseconds(200) },
            certificate: stranger
        ) { bench in
            #expect(await bench.send(1) == .notSent(reason: "NoConnection", after: .seconds(5)))
            #expect(bench.transport.health.problems["production"]?.contains("cannot be reached") == true)
            let tries = bench.log.lines.count { $0.contains("connecting to APNs failed") }
            #expect((1...20).contains(tries))
        }
    }

    /// A client certificate from the openssl command.
    private static func make(days: Int) throws -> ClientCertificate {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("varsel-\(UUID()).pem")
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "\(days)",
            "-subj", "/CN=Apple Push Services: com.example.app", "-keyout", file.path, "-out", file.path + ".crt",
        ]
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        defer { try? FileManager.default.removeItem(atPath: file.path + ".crt") }
        let pem = try Data(contentsOf: file) + Data(contentsOf: URL(fileURLWithPath: file.path + ".crt"))
        return try ClientCertificate(file: Array(pem))
    }
}
