import Foundation
import HTTP2
import Kernel
import Observability
import Synchronization

/// nghttp2's own server, a peer that we did not write, in a process of its own.
final class NGHTTPD: Sendable {
    let port: Int
    let tls: TLSClientConfiguration
    let telemetry = Telemetry.silent()
    let processID: pid_t
    private let directory: URL
    private let process: Mutex<Process>

    private init(port: Int, tls: TLSClientConfiguration, directory: URL, process: Process) {
        self.port = port
        self.tls = tls
        self.directory = directory
        processID = process.processIdentifier
        self.process = Mutex(process)
    }

    /// Starts it on a free port with a small document `/hello`.
    static func start(_ arguments: [String] = []) async throws -> NGHTTPD {
        let identity = try TestBed.identity()
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("varsel-nghttpd-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let key = directory.appendingPathComponent("key.pem")
        let certificate = directory.appendingPathComponent("cert.pem")
        try identity.privateKeyPEM.write(to: key, atomically: true, encoding: .utf8)
        try identity.certificatePEM.write(to: certificate, atomically: true, encoding: .utf8)
        try "hello".write(to: directory.appendingPathComponent("hello"), atomically: true, encoding: .utf8)
        let port = try await Self.freePort()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            ["nghttpd", "-a", "127.0.0.1", "-d", directory.path] + arguments
            + [String(port), key.path, certificate.path]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        let server = NGHTTPD(
            port: port,
            tls: TLSClientConfiguration(caFile: certificate.path),
            directory: directory,
            process: process
        )
        for _ in 0..<200 {
            if let client = try? await server.connect() {
                await client.close(drain: .zero)
                return server
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw HTTP2Error(.connectFailed, "nghttpd did not start; is nghttp2-server installed?")
    }

    func connect(_ options: HTTP2ClientOptions = HTTP2ClientOptions()) async throws -> HTTP2ClientConnection {
        try await HTTP2ClientConnection.connect(
            host: "127.0.0.1",
            port: port,
            tls: tls,
            options: options,
            telemetry: telemetry
        )
    }

    /// Stops the process without ending it: its kernel still acknowledges what arrives, but nobody answers.
    func freeze() {
        kill(processID, SIGSTOP)
    }

    func stop() {
        kill(processID, SIGKILL)
        process.withLock { $0.waitUntilExit() }
        try? FileManager.default.removeItem(at: directory)
    }

    /// A port that was free a moment ago.
    private static func freePort() async throws -> Int {
        let bed = try await TestBed { _, responder in responder.respond(status: 200) }
        await bed.server.stop()
        return bed.server.port
    }
}
