import Foundation
import Kernel
import Testing

@testable import Signing

/// Reads what the openssl command writes.
struct ClientCertificateTests {
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("varsel-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try openssl(
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "20",
            "-subj",
            "/CN=Apple Push Services: com.example",
            "-keyout",
            path("key"),
            "-out",
            path("certificate")
        )
    }

    @Test func `a p12 gives certificate, key and end`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try openssl(
            "pkcs12",
            "-export",
            "-in",
            path("certificate"),
            "-inkey",
            path("key"),
            "-out",
            path("p12"),
            "-passout",
            "pass:geheim"
        )
        let read = try ClientCertificate(file: bytes("p12"), password: "geheim")
        #expect(read.certificatePEM == String(decoding: try bytes("certificate"), as: UTF8.self))
        #expect(read.privateKeyPEM == String(decoding: try bytes("key"), as: UTF8.self))
        #expect(read.name == "Apple Push Services: com.example")
        let now = SystemWallClock().now
        #expect((19...20).contains(read.daysLeft(at: now)))
        #expect(read.daysLeft(at: now + .seconds(40 * 86_400)) < 0)
        let error = #expect(throws: SigningError.self) { try ClientCertificate(file: bytes("p12"), password: "falsch") }
        #expect(error?.message == "the .p12's password is wrong")
    }

    @Test func `a p12 of the macOS keychain is refused with the way to mend it`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try openssl(
            "pkcs12",
            "-export",
            "-legacy",
            "-in",
            path("certificate"),
            "-inkey",
            path("key"),
            "-out",
            path("old"),
            "-passout",
            "pass:geheim"
        )
        let error = #expect(throws: SigningError.self) { try ClientCertificate(file: bytes("old"), password: "geheim") }
        #expect(error?.message.contains("openssl pkcs12 -legacy") == true)
    }

    @Test func `PEM is read in any order, with a pass phrase or without`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try openssl("pkcs8", "-topk8", "-in", path("key"), "-out", path("closed"), "-passout", "pass:geheim")
        for (parts, password) in [(["key", "certificate"], nil), (["certificate", "closed"], "geheim")] {
            let file = try parts.flatMap { try bytes($0) }
            let read = try ClientCertificate(file: file, password: password)
            #expect(read.privateKeyPEM == String(decoding: try bytes("key"), as: UTF8.self))
        }
        let closed = try bytes("certificate") + bytes("closed")
        #expect(throws: SigningError.self) { try ClientCertificate(file: closed, password: "falsch") }
        #expect(throws: SigningError.self) { try ClientCertificate(file: closed) }
    }

    @Test func `what is no pair of certificate and key is refused`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let stranger = Array(try ECKey.generateP256().privatePEM.utf8)
        for file in [
            [], Array("hello".utf8), try bytes("certificate"), try bytes("certificate") + stranger, [0x30, 1],
        ] {
            #expect(throws: SigningError.self) { try ClientCertificate(file: file) }
        }
    }

    private func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    private func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: path(name))))
    }

    private func openssl(_ arguments: String...) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "openssl \(arguments)")
    }
}
