import Foundation
import HTTP2
import Kernel
import Testing

/// Against programs that we did not write.
@Suite(.timeLimit(.minutes(1)))
struct PeerTests {
    @Test func `nghttpd answers our client`() async throws {
        let peer = try await NGHTTPD.start()
        defer { peer.stop() }
        let client = try await peer.connect()
        let hello = try await client.send(
            HTTP2Request(method: "GET", path: "/hello", authority: "localhost"),
            timeout: .seconds(10)
        )
        #expect(hello.status == 200)
        #expect(hello.body == Array("hello".utf8))
        let missing = try await client.send(.push(), timeout: .seconds(10))
        #expect(missing.status == 404)
        try await client.ping(timeout: .seconds(5))
        await client.close(drain: .seconds(5))
        #expect(client.state.isClosed)
    }

    @Test func `nghttpd gives back what was uploaded, a thousand times over a limit of 10 streams`() async throws {
        let peer = try await NGHTTPD.start(["--echo-upload", "-m", "10"])
        defer { peer.stop() }
        let client = try await peer.connect()
        #expect(client.state.peerMaxConcurrentStreams == 10)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<10 {
                group.addTask {
                    for round in 0..<100 {
                        let body = Array("\(worker)-\(round)".utf8) + [UInt8](repeating: 7, count: round * 300)
                        let answer = try await client.send(.push("/hello", body: body), timeout: .seconds(20))
                        #expect(answer.body == body)
                    }
                }
            }
            try await group.waitForAll()
        }
        await client.close(drain: .seconds(5))
    }

    @Test func `h2load is served by our server without a single error`() async throws {
        let bed = try await TestBed { _, responder in responder.respond(status: 200, body: Array("ok".utf8)) }
        let body = FileManager.default.temporaryDirectory.appendingPathComponent("varsel-\(UUID()).json")
        try Data(repeating: 120, count: 250).write(to: body)
        defer { try? FileManager.default.removeItem(at: body) }
        let output = try run([
            "h2load", "-n", "20000", "-c", "4", "-m", "200", "-d", body.path,
            "https://127.0.0.1:\(bed.server.port)/3/device/a1",
        ])
        #expect(output.contains("20000 total, 20000 started, 20000 done, 20000 succeeded, 0 failed, 0 errored"))
        #expect(output.contains("status codes: 20000 2xx"))
        await bed.server.stop()
    }

    @Test func `a TLS server without HTTP/2 is refused`() async throws {
        let files = FileManager.default.temporaryDirectory.appendingPathComponent("varsel-\(UUID())")
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: files) }
        let identity = try TestBed.identity()
        let (key, certificate) = (files.appendingPathComponent("k"), files.appendingPathComponent("c"))
        try identity.privateKeyPEM.write(to: key, atomically: true, encoding: .utf8)
        try identity.certificatePEM.write(to: certificate, atomically: true, encoding: .utf8)
        let bed = try await TestBed { _, responder in responder.respond(status: 200) }
        await bed.server.stop()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = [
            "s_server", "-quiet", "-accept", "127.0.0.1:\(bed.server.port)", "-key", key.path, "-cert",
            certificate.path,
        ]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        // It inherited this thread's signal mask and would not see SIGTERM.
        defer { kill(process.processIdentifier, SIGKILL) }
        var error: HTTP2Error?
        // Until the program listens, the connection is refused.
        for _ in 0..<200 {
            error = await failure { () throws(HTTP2Error) in
                try await HTTP2ClientConnection.connect(
                    host: "127.0.0.1",
                    port: bed.server.port,
                    tls: TLSClientConfiguration(caFile: certificate.path),
                    telemetry: bed.telemetry
                )
            }
            guard error?.code == .connectFailed else { break }
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(error?.code == .alpnMissing)
    }

    private func run(_ command: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: output, as: UTF8.self)
    }
}
