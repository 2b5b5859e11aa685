import Foundation
import Kernel
import Observability
import Signing
import Testing

@testable import HTTPFetch

/// TLS against OpenSSL's own test server, which speaks HTTP/1.0 over it.
@Suite(.serialized)
struct TLSTests {
    @Test(.timeLimit(.minutes(1)))
    func `a server is believed when its certificate is among the trusted ones, and not otherwise`() async throws {
        try await OpenSSLServer.run(host: "localhost") { server in
            var options = FetchOptions(name: "test")
            options.trustedPEM = server.certificatePEM
            let trusting = HTTPFetch(options: options, telemetry: .silent())
            let response = try await trusting.send(FetchRequest(.get, "https://localhost:\(server.port)/page.txt"))
            #expect(response.status == 200)
            #expect(response.body == Array("over TLS".utf8))
            // The certificate names localhost alone.
            await #expect(throws: FetchError.self) {
                try await trusting.send(FetchRequest(.get, "https://127.0.0.1:\(server.port)/page.txt"))
            }
            await trusting.close()
            let stranger = HTTPFetch(options: FetchOptions(name: "test"), telemetry: .silent())
            do throws(FetchError) {
                _ = try await stranger.send(FetchRequest(.get, "https://localhost:\(server.port)/page.txt"))
                Issue.record("an unknown certificate was believed")
            } catch {
                #expect(error.code == .tlsFailed)
                #expect(error.mayHaveBeenProcessed == false)
            }
            await stranger.close()
        }
    }
}

/// `openssl s_server` serving one file.
private struct OpenSSLServer {
    let port: Int
    let certificatePEM: String

    static func run(host: String, _ body: (OpenSSLServer) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("fetch-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let pair = try SelfSigned.make(hosts: [host], validFor: .seconds(3600), now: SystemWallClock().now)
        let files = ["cert.pem": pair.certificatePEM, "key.pem": pair.keyPEM]
        for (name, text) in files {
            try text.write(to: folder.appendingPathComponent(name), atomically: true, encoding: .utf8)
        }
        // With -HTTP the file brings its own head.
        try "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nover TLS".write(
            to: folder.appendingPathComponent("page.txt"),
            atomically: true,
            encoding: .utf8
        )
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = ["s_server", "-accept", "127.0.0.1:0", "-cert", "cert.pem", "-key", "key.pem", "-HTTP"]
        process.currentDirectoryURL = folder
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        defer {
            // It was started from a thread that blocks signals, which it inherited: nothing but this one ends it.
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        // It says `ACCEPT 127.0.0.1:PORT` when it is ready.
        var said = ""
        while said.firstRange(of: /ACCEPT.*\n/) == nil {
            let bytes = output.fileHandleForReading.availableData
            if bytes.isEmpty { break }
            said += String(decoding: bytes, as: UTF8.self)
        }
        let line = try #require(said.split(separator: "\n").first { $0.hasPrefix("ACCEPT") })
        let port = try #require(line.split(separator: ":").last.flatMap { Int($0) })
        try await body(OpenSSLServer(port: port, certificatePEM: pair.certificatePEM))
    }
}
