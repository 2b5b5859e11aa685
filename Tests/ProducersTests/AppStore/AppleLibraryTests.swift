import Foundation
import Kernel
import Producers
import Signing
import TestSupport
import Testing

/// Apple's own server library judges a matrix of signed payloads, and so do we.
struct AppleLibraryTests {
    /// Where we differ on purpose: Apple's library accepts, we refuse, for this reason.
    private static let stricter: [String: String] = [
        "a byte after the certificate": "certificate",
        "an intermediate on P-521": "key", "an RSA intermediate": "key", "an RSA root": "no verifier",
        "a header twice told alg": "malformed", "a payload with a byte order mark": "malformed",
        "a payload with NaN": "malformed", "a payload with a name twice": "malformed",
        "a megabyte of filler": "malformed", "a padded signature": "malformed",
        "signedDate missing": "signed_date", "signedDate null": "signed_date", "signedDate a fraction": "signed_date",
        "signedDate a text of digits": "signed_date", "signedDate in 100 days": "signed_date",
        "production with app id a text": "identifier",
        "notificationUUID missing": "notification_uuid", "notificationUUID no UUID": "notification_uuid",
        "notificationUUID a number": "notification_uuid",
        "a transaction within that is garbage": "nested", "renewal information within that is garbage": "nested",
        "a transaction within by an attacker": "nested", "a transaction within of another app": "nested",
        "a transaction within of the other store": "nested",
        "a transaction within without a signed date": "nested",
        "renewal information within of another subscription": "disagreement",
    ]
    /// Claims of access tokens that Apple's library minds by accident of the JWT library under it.
    private static let ignored: Set = [
        "the claim exp", "the claim nbf", "the claim iat", "the claim aud", "the claim sub",
    ]

    @Test(.timeLimit(.minutes(3)))
    func `a matrix of payloads is accepted and refused as by Apple's library, but for a written list (P6)`()
        async throws
    {
        let now = SystemWallClock().now
        let cases = try await matrix(now: now)
        #expect(cases.count > 160)
        var differences: Set<String> = []
        for line in cases {
            let name = line["name"]?.stringValue ?? ""
            let apple = line["accepted"]?.boolValue ?? false
            let ours = try await verdict(line, now: now)
            if let reason = Self.stricter[name] {
                #expect(apple && ours == reason, "\(name): Apple \(apple), ours \(ours ?? "accepted")")
                differences.insert(name)
            } else if Self.ignored.contains(name) {
                #expect(!apple && ours == nil, "\(name): Apple \(apple), ours \(ours ?? "accepted")")
                differences.insert(name)
            } else {
                #expect(apple == (ours == nil), "\(name): Apple \(apple), ours \(ours ?? "accepted")")
                let status = line["status"]?.stringValue
                // The empty object lacks its date as well, which we look at first.
                if status == "INVALID_APP_IDENTIFIER", name != "an empty object" {
                    #expect(ours == "identifier", "\(name)")
                }
                if status == "INVALID_ENVIRONMENT" { #expect(ours == "environment", "\(name)") }
            }
        }
        #expect(differences == Self.ignored.union(Self.stricter.keys), "a difference on the list was not seen")
    }

    /// Our reason for refusing, `nil` for accepting.
    private func verdict(_ line: JSONValue, now: Timestamp) async throws -> String? {
        let roots = try (line["roots"]?.arrayValue ?? []).map { root in
            try X509Certificate(der: try #require(root.stringValue.flatMap(Base64.decode)))
        }
        let chains: ChainVerifier
        do {
            chains = try ChainVerifier(roots: roots, rules: .appStore)
        } catch {
            return "no verifier"
        }
        let verifier = AppStoreVerifier(
            signed: SignedDataVerifier(chains: chains, clock: FixedWallClock(now)),
            bundleID: line["bundleId"]?.stringValue ?? "",
            appAppleID: line["appAppleId"]?.integerValue
        )
        let token = line["token"]?.stringValue ?? ""
        let environment = try #require(AppStoreEnvironment(claim: line["environment"]?.stringValue))
        // Twice, so that the second judgement rests on the cached chain.
        var verdicts: [String?] = []
        for _ in 0..<2 {
            do {
                switch line["kind"]?.stringValue {
                case "transaction": _ = try await verifier.transaction(token, environment: environment)
                case "renewal": _ = try await verifier.renewal(token, environment: environment)
                default: _ = try await verifier.notification(token, environment: environment)
                }
                verdicts.append(nil)
            } catch let refusal as AppStoreRefusal {
                verdicts.append(refusal.reason)
            }
        }
        #expect(verdicts[0] == verdicts[1], "the cache changes the verdict on \(line["name"]?.stringValue ?? "")")
        return verdicts[0]
    }

    private func matrix(now: Timestamp) async throws -> [JSONValue] {
        let environment = ProcessInfo.processInfo.environment
        let cache = environment["VARSEL_CACHE"] ?? (environment["HOME"] ?? "/root") + "/.cache/varsel"
        let python = "\(cache)/peers/app-store-server-library-3.1.2/bin/python"
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Peers/appstore.py").path
        let output = FileManager.default.temporaryDirectory.appendingPathComponent("varsel-\(UUID().uuidString)").path
        defer { unlink(output) }
        let process = try ServerProcess([python, script, String(now.milliseconds)], output: output)
        let code = try await process.exitCode(within: .seconds(120))
        let text = try String(contentsOfFile: output, encoding: .utf8)
        try #require(code == 0, "\(text.suffix(500)): run ./scripts/peers")
        return try text.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
    }
}
