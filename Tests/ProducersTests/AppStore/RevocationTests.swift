import Foundation
import HTTPFetch
import Kernel
import Observability
import Producers
import Signing
import TestSupport
import Testing

/// Whether certificates were withdrawn, asked of a responder that another library (Python's cryptography) plays (P6).
struct RevocationTests {
    /// What each way of answering means: `good`, `revoked` for refused for good, `outage` for come again.
    private static let expected = [
        "good": "good", "delegate": "good", "revoked": "revoked", "unknown": "revoked", "later": "revoked",
        "garbage": "revoked", "badsig": "revoked", "stale": "revoked", "impostor": "revoked", "unmarked": "revoked",
        "silent": "revoked", "error": "outage", "slow": "outage", "large": "outage", "redirect": "outage",
        "elsewhere": "outage",
    ]

    private func withResponder(_ now: Timestamp, _ body: (_ port: Int64, _ cases: [JSONValue]) async throws -> Void)
        async throws
    {
        let environment = ProcessInfo.processInfo.environment
        let cache = environment["VARSEL_CACHE"] ?? (environment["HOME"] ?? "/root") + "/.cache/varsel"
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Peers/ocsp.py").path
        let output = FileManager.default.temporaryDirectory.appendingPathComponent("varsel-\(UUID().uuidString)").path
        defer { unlink(output) }
        let process = try ServerProcess(
            [
                "\(cache)/peers/app-store-server-library-3.1.2/bin/python", script, String(now.milliseconds),
            ],
            output: output
        )
        let result: Result<Void, any Error>
        do {
            let deadline = ContinuousClock.now + .seconds(60)
            var line: JSONValue?
            while line == nil, ContinuousClock.now < deadline {
                let text = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
                if text.hasSuffix("\n") { line = try? JSONValue(parsing: text) }
                if line == nil { try await Task.sleep(for: .milliseconds(20)) }
            }
            let found = try #require(line, "the responder did not start: run ./scripts/peers")
            result = .success(
                try await body(try #require(found["port"]?.integerValue), found["cases"]?.arrayValue ?? [])
            )
        } catch {
            result = .failure(error)
        }
        try await process.end(SIGKILL)
        try result.get()
    }

    private func verdict(_ verifier: SignedDataVerifier, _ token: String) async -> String {
        do {
            _ = try await verifier.payload(of: token)
            return "good"
        } catch let refusal as ChainRefusal {
            return refusal.rawValue
        } catch is RevocationOutage {
            return "outage"
        } catch {
            return "\(error)"
        }
    }

    @Test(.timeLimit(.minutes(3)))
    func `only a clear answer of the issuer, or of whom it charged with answering, vouches for a certificate (P6)`()
        async throws
    {
        let now = SystemWallClock().now
        try await withResponder(now) { port, cases in
            let fetch = HTTPFetch(options: RevocationClient.options, telemetry: .silent())
            #expect(cases.count == Self.expected.count)
            for line in cases {
                let mode = line["mode"]?.stringValue ?? ""
                let root = try X509Certificate(der: try #require(line["root"]?.stringValue.flatMap(Base64.decode)))
                let chains = try ChainVerifier(roots: [root], rules: .appStore)
                let client = RevocationClient(fetch: fetch, hosts: ["127.0.0.1:\(port)", "127.0.0.1:1"])
                let verifier = SignedDataVerifier(chains: chains, revocation: client, clock: FixedWallClock(now))
                let token = line["token"]?.stringValue ?? ""
                #expect(await verdict(verifier, token) == Self.expected[mode], "\(mode)")
                guard mode == "good" else { continue }
                // Hosts that are not on the list are never asked, and a chain without an answer is not believed.
                let strict = RevocationClient(fetch: fetch, hosts: ["ocsp.apple.com"])
                let other = SignedDataVerifier(chains: chains, revocation: strict, clock: FixedWallClock(now))
                #expect(await verdict(other, token) == "revoked")
            }
            await fetch.close()
        }
    }

    @Test(.timeLimit(.minutes(3)))
    func `an answer is good for a quarter of an hour, and certificates must be valid now`() async throws {
        let now = SystemWallClock().now
        try await withResponder(now) { port, cases in
            let line = try #require(cases.first { $0["mode"] == "good" })
            let root = try X509Certificate(der: try #require(line["root"]?.stringValue.flatMap(Base64.decode)))
            let fetch = HTTPFetch(options: RevocationClient.options, telemetry: .silent())
            let clock = FixedWallClock(now)
            let verifier = SignedDataVerifier(
                chains: try ChainVerifier(roots: [root], rules: .appStore),
                revocation: RevocationClient(fetch: fetch, hosts: ["127.0.0.1:\(port)"]),
                clock: clock
            )
            let token = line["token"]?.stringValue ?? ""
            #expect(await verdict(verifier, token) == "good")
            await fetch.close()
            clock.advance(by: .seconds(899))
            #expect(await verdict(verifier, token) == "good")
            clock.advance(by: .seconds(1))
            #expect(await verdict(verifier, token) == "outage")
            // Signed while they were valid is not enough where revocation is asked about.
            clock.advance(by: .seconds(40 * 86_400))
            #expect(await verdict(verifier, token) == "chain")
        }
    }
}
