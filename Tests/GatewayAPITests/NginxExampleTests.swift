import Foundation
import Testing

@testable import GatewayAPI
@testable import HTTPServer

/// The nginx example beside the routes it stands before.
struct NginxExampleTests {
    /// A `location` of the example.
    private struct Location {
        /// `=`, `~`, or nothing for a prefix.
        let kind: String
        let pattern: String
        let bodyBytes: Int?
        let seconds: Int?

        func matches(_ path: String) -> Bool {
            switch kind {
            case "=": path == pattern
            case "~": path.range(of: pattern, options: .regularExpression) != nil
            default: path.hasPrefix(pattern)
            }
        }
    }

    private let text: String

    init() throws {
        let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        text = try String(contentsOf: repository.appendingPathComponent("deploy/nginx/varsel.conf"), encoding: .utf8)
    }

    /// The number after a directive, in bytes or seconds.
    private static func number(_ directive: String, in text: Substring) throws -> Int? {
        let pattern = try Regex(
            "(?m)^\\s*\(directive) ([0-9]+)([kms]?)(?:s)?;",
            as: (Substring, Substring, Substring).self
        )
        guard let found = text.firstMatch(of: pattern), let number = Int(found.1) else { return nil }
        return number * ["k": 1024, "m": 1024 * 1024][String(found.2), default: 1]
    }

    private func locations() throws -> [Location] {
        try text.matches(of: /(?m)^ {4}location (?:(=|~) )?(\/\S*|\^\S*) \{\n((?: {8}.*\n)*) {4}\}/).map { found in
            Location(
                kind: found.1.map(String.init) ?? "",
                pattern: String(found.2),
                bodyBytes: try Self.number("client_max_body_size", in: found.3),
                seconds: try Self.number("proxy_read_timeout", in: found.3)
            )
        }
    }

    /// The one that nginx chooses: the exact one, the first pattern, the longest prefix.
    private func chosen(for path: String, among locations: [Location]) -> Location? {
        let found = locations.filter { $0.matches(path) }
        return found.first { $0.kind == "=" } ?? found.first { $0.kind == "~" }
            ?? found.max { $0.pattern.count < $1.pattern.count }
    }

    @Test func `nginx takes in as much as each route does, and waits as long (G11)`() throws {
        let locations = try locations()
        let server = text[...(text.firstRange(of: "location")?.lowerBound ?? text.endIndex)]
        let (bytes, seconds) = (
            try #require(try Self.number("client_max_body_size", in: server)),
            try #require(try Self.number("proxy_read_timeout", in: server))
        )
        for endpoint in try GatewayFixture().gateway.endpoints where endpoint.path.hasPrefix("/api/") {
            let path = endpoint.path.replacing(/\{[^}]*\}/, with: "0198a0f2")
            let location = try #require(chosen(for: path, among: locations))
            #expect((location.bodyBytes ?? bytes) >= endpoint.limits.bodyBytes, "\(endpoint.path)")
            #expect((location.bodyBytes ?? bytes) <= max(bytes, 16 * 1024 * 1024), "\(endpoint.path)")
            let patience = endpoint.limits.deadline.map { Int($0.components.seconds) } ?? 10
            #expect((location.seconds ?? seconds) > patience, "\(endpoint.path)")
        }
    }
}
