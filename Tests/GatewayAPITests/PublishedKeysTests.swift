import Foundation
import GatewayAPI
import HTTPFetch
import Kernel
import Observability
import Signing
import TestSupport
import Testing

/// The way to an issuer's keys, against OpenSSL's own TLS server.
@Suite(.serialized) struct PublishedKeysTests {
    @Test(.timeLimit(.minutes(1)))
    func `published keys come over TLS alone, from where they are said to be (G7)`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("jwks-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let identity = try SelfSigned.make(hosts: ["localhost"], validFor: .seconds(3600), now: SystemWallClock().now)
        let key = try TestJWK.ec("k")
        let set = #"{"keys":[\#(key.json)]}"#
        let port = freePort()
        // With -HTTP a file brings its own head.
        let files = [
            "cert.pem": identity.certificatePEM, "key.pem": identity.keyPEM,
            "good": "HTTP/1.0 200 OK\r\nCache-Control: public, max-age=600\r\n\r\n" + set,
            "moved": "HTTP/1.0 302 Found\r\nLocation: https://localhost:\(port)/good\r\nContent-Length: 0\r\n\r\n",
            "broken": "HTTP/1.0 500 Oh\r\n\r\n" + set,
            "huge": "HTTP/1.0 200 OK\r\n\r\n" + String(repeating: " ", count: 1_000_000) + set,
        ]
        for (name, text) in files { try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8) }
        let server = try ServerProcess([
            "sh", "-c",
            "cd '\(folder)' && exec openssl s_server -accept 127.0.0.1:\(port) -cert cert.pem -key key.pem -HTTP",
        ])
        let result: Result<Void, any Error>
        do { result = .success(try await ask(port, identity.certificatePEM, set)) } catch { result = .failure(error) }
        try await server.end(SIGKILL)
        try result.get()
    }

    private func ask(_ port: Int, _ certificate: String, _ set: String) async throws {
        func keys(_ url: String, private allowsPrivate: Bool = true, trusting pem: String? = nil) -> PublishedKeys {
            PublishedKeys(url: url, allowsPrivate: allowsPrivate, trustedPEM: pem ?? certificate, telemetry: .silent())
        }
        let base = "https://localhost:\(port)"
        let good = keys(base + "/good")
        var published: TokenKeys.Published?
        for _ in 0..<300 where published == nil {
            published = try? await good.get()
            if published == nil { try await Task.sleep(for: .milliseconds(20)) }
        }
        #expect(published?.text == Array(set.utf8))
        #expect(published?.maxAge == .seconds(600))
        let stranger = try SelfSigned.make(hosts: ["localhost"], validFor: .seconds(3600), now: SystemWallClock().now)
        let refused: [(PublishedKeys, FetchError.Code?)] = [
            (keys(base + "/good", private: false), .addressNotAllowed),
            (keys(base + "/good", trusting: stranger.certificatePEM), .tlsFailed),
            (keys("http://localhost:\(port)/good"), .schemeNotAllowed), (keys(base + "/huge"), .responseTooLarge),
            (keys(base + "/moved"), nil), (keys(base + "/broken"), nil),
        ]
        for (keys, code) in refused {
            do {
                _ = try await keys.get()
                Issue.record("keys were taken: \(String(describing: code))")
            } catch {
                #expect((error as? FetchError)?.code == code, "\(error)")
            }
            await keys.close()
        }
        await good.close()
    }
}
