import Foundation
import HTTP2

/// A certificate for clients from the openssl command: those of `SelfSigned` are for servers only.
func clientIdentity() throws -> TLSIdentity {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("varsel-\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let (key, certificate) = (directory.appendingPathComponent("k"), directory.appendingPathComponent("c"))
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
    process.arguments = [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
        "/CN=client", "-keyout", key.path, "-out", certificate.path,
    ]
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    return TLSIdentity(
        certificatePEM: try String(contentsOf: certificate, encoding: .utf8),
        privateKeyPEM: try String(contentsOf: key, encoding: .utf8)
    )
}
