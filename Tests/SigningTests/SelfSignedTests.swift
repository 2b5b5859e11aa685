import Foundation
import Kernel
import Testing

@testable import Signing

struct SelfSignedTests {
    @Test func `the certificate names its hosts and its time`() throws {
        let made = try SelfSigned.make(
            hosts: ["localhost", "127.0.0.1", "::1"],
            validFor: .seconds(86_400),
            now: Timestamp(milliseconds: 1_790_000_000_000)
        )
        let text = try openssl(["x509", "-noout", "-text"], input: made.certificatePEM)
        #expect(text.contains("DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1"))
        #expect(text.contains("CA:FALSE"))
        #expect(text.contains("Not Before: Sep 21 13:13:20 2026 GMT"))
        #expect(text.contains("Not After : Sep 22 14:13:20 2026 GMT"))
        #expect(made.keyPEM.hasPrefix("-----BEGIN PRIVATE KEY-----"))
    }

    @Test func `OpenSSL trusts the certificate when told to, and two are never alike`() throws {
        let now = SystemWallClock().now
        let first = try SelfSigned.make(hosts: ["localhost"], validFor: .seconds(3600), now: now)
        let second = try SelfSigned.make(hosts: ["localhost"], validFor: .seconds(3600), now: now)
        #expect(first.certificatePEM != second.certificatePEM)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).pem")
        defer { try? FileManager.default.removeItem(at: file) }
        try first.certificatePEM.write(to: file, atomically: true, encoding: .utf8)
        let arguments = ["verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", file.path, file.path]
        #expect(try openssl(arguments, input: "").contains("OK"))
    }

    @Test(arguments: [[], [""], ["a b"], ["localhost,DNS:evil.example"]])
    func `hosts that are none are refused`(_ hosts: [String]) {
        #expect(throws: SigningError.self) {
            try SelfSigned.make(hosts: hosts, validFor: .seconds(1), now: Timestamp(milliseconds: 0))
        }
    }

    private func openssl(_ arguments: [String], input: String) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = arguments
        let (stdin, stdout) = (Pipe(), Pipe())
        process.standardInput = stdin
        process.standardOutput = stdout
        process.standardError = stdout
        try process.run()
        stdin.fileHandleForWriting.write(Data(input.utf8))
        try stdin.fileHandleForWriting.close()
        let output = stdout.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: output, as: UTF8.self)
    }
}
