import Foundation
import JobQueue
import Kernel
import RedisClient
import TestSupport
import Testing

/// A BullMQ client in Python: generation 6 of the wire format (3.4.4) or generation 5 (2.26.0).
struct Peer: Sendable, CustomTestStringConvertible {
    static let all = [Peer(version: "3.4.4"), Peer(version: "2.26.0")]

    let version: String
    /// The file of the folder Peers that knows the commands.
    var script = "peer.py"

    /// The same client with the commands of Peers/features.py.
    var features: Peer { Peer(version: version, script: "features.py") }

    var testDescription: String { version }

    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

    /// Runs one command of its script and reads its answer.
    @discardableResult
    func run(_ command: String, _ argument: JSONValue = .null, on fixture: QueueFixture) async throws -> JSONValue {
        let (process, output) = try await start(command, argument, on: fixture)
        defer { try? FileManager.default.removeItem(atPath: output) }
        let code = try await process.exitCode(within: .seconds(60))
        let text = try String(contentsOfFile: output, encoding: .utf8)
        guard code == 0, let line = text.split(separator: "\n").last else {
            throw TestServerError("peer \(version) \(command) ended with \(code): \(text)")
        }
        return try JSONValue(parsing: String(line))
    }

    /// Starts a command that does not end by itself.
    /// - Returns: the process, to be ended by the caller, and the file its output goes to.
    func start(
        _ command: String,
        _ argument: JSONValue,
        on fixture: QueueFixture
    ) async throws -> (ServerProcess, output: String) {
        let output = "/tmp/varsel-peer-\(UInt64.random(in: 0...UInt64.max))"
        let root = Self.folder.deletingLastPathComponent().deletingLastPathComponent()
        let setup = try ServerProcess([root.appendingPathComponent("scripts/peers").path], output: output)
        guard try await setup.exitCode(within: .seconds(120)) == 0 else {
            throw TestServerError("scripts/peers failed: \(try String(contentsOfFile: output, encoding: .utf8))")
        }
        let peers = try String(contentsOfFile: output, encoding: .utf8).split(separator: "\n").last ?? ""
        let process = try ServerProcess(
            [
                "\(peers)/bullmq-\(version)/bin/python", Self.folder.appendingPathComponent("Peers/\(script)").path,
                ProcessInfo.processInfo.environment["VARSEL_TEST_REDIS_URL"] ?? "", fixture.queue.name.prefix,
                fixture.queue.name.name, command, argument.text,
            ],
            output: output
        )
        return (process, output)
    }
}
