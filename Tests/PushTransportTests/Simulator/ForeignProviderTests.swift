import Foundation
import Kernel
import Observability
import Signing
import TestSupport
import Testing

@testable import PushSimulator

/// A provider that others wrote (aioapns) judges the simulator: it knows Apple's protocol, not ours.
struct ForeignProviderTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()

    @Test(.timeLimit(.minutes(3)))
    func `aioapns is served and refused as Apple would`() async throws {
        let work = FileManager.default.temporaryDirectory.appendingPathComponent("varsel-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: work, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: work) }
        let identity = try SelfSigned.make(hosts: ["127.0.0.1"], validFor: .seconds(3600), now: SystemWallClock().now)
        let pair = try ECKey.generateP256()
        let certificate = work.appendingPathComponent("certificate.pem")
        let key = work.appendingPathComponent("key.p8")
        try identity.certificatePEM.write(to: certificate, atomically: true, encoding: .utf8)
        try pair.privatePEM.write(to: key, atomically: true, encoding: .utf8)
        let configuration = SimulatorConfiguration(
            identity: .init(certificatePEM: identity.certificatePEM, keyPEM: identity.keyPEM),
            credentials: [
                .init(key: try VerificationKey(pem: pair.publicPEM, keyID: "KEY1234567"), teamID: "TEAM123456")
            ],
            topics: ["com.example.app"]
        )
        let simulator = try await PushSimulator.start(configuration, telemetry: .silent())
        let dead = String(repeating: "cd", count: 32)
        let unregistered = FaultRule.Action.refuse(
            status: 410,
            reason: "Unregistered",
            timestamp: 1_790_000_000_123,
            retryAfter: nil
        )
        simulator.addFault(FaultRule(unregistered, token: dead))
        let answers = try await provider(
            [String(simulator.port), certificate.path, key.path, "KEY1234567", "TEAM123456", "com.example.app", "50"],
            output: work.appendingPathComponent("output").path
        )
        await simulator.stop()
        #expect(answers.prefix(50).allSatisfy { $0["status"] == 200 && $0["sameId"] == true })
        let refusals = answers.dropFirst(50).map {
            "\($0["status"]?.integerValue ?? 0) \($0["reason"]?.stringValue ?? "")"
        }
        #expect(
            refusals == [
                "400 BadDeviceToken", "413 PayloadTooLarge", "400 BadPriority", "400 BadCollapseId", "410 Unregistered",
            ]
        )
        #expect(answers.last?["timestamp"] == 1_790_000_000_123)
        #expect(simulator.acceptedCount == 50)
        #expect(simulator.duplicateCount == 0)
        #expect(simulator.connectionCount == 1)
    }

    private func provider(_ arguments: [String], output: String) async throws -> [JSONValue] {
        let root = Self.folder.deletingLastPathComponent().deletingLastPathComponent()
        let setup = try ServerProcess([root.appendingPathComponent("scripts/peers").path], output: output)
        guard try await setup.exitCode(within: .seconds(120)) == 0 else {
            throw TestServerError("scripts/peers failed: \(try String(contentsOfFile: output, encoding: .utf8))")
        }
        let peers = try String(contentsOfFile: output, encoding: .utf8).split(separator: "\n").last ?? ""
        let script = Self.folder.appendingPathComponent("Peers/provider.py").path
        let process = try ServerProcess(["\(peers)/aioapns-4.0/bin/python", script] + arguments, output: output)
        let code = try await process.exitCode(within: .seconds(60))
        let text = try String(contentsOfFile: output, encoding: .utf8)
        guard code == 0 else { throw TestServerError("provider.py ended with \(code): \(text.suffix(2000))") }
        // Warnings of Python's libraries share the file.
        return try text.split(separator: "\n").filter { $0.hasPrefix("{") }.map { try JSONValue(parsing: String($0)) }
    }
}
