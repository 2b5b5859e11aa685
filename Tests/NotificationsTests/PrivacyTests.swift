import Foundation
import Notifications
import Testing

/// What the types forbid (P10), shown by a compiler that is asked.
struct PrivacyTests {
    /// Each of these would bring a user's own words into a push, and none may compile.
    private static let forbidden = [
        ("words of a variable", "_ = NotificationText.literal(body: entry)"),
        ("interpolated words", #"_ = NotificationText.literal(body: "You wrote: \(entry)")"#),
        ("a title", "_ = NotificationJob(userID: user, category: category, text: .literal(body: \"x\"), title: entry)"),
        ("a variable's value", "_ = NotificationText.catalog(key: \"k\", variables: [.tierName: entry])"),
        (
            "a placeholder of one's own",
            "_ = NotificationText.catalog(key: \"k\", variables: [\"entry\": PlaceholderValue(name: \"x\")])"
        ),
        ("a name from a variable", "_ = PlaceholderValue(name: entry)"),
        ("variables without the parser", "_ = CatalogVariables(parsed: [\"tierName\": entry])"),
        ("a push text", "_ = PushText(title: entry, body: entry)"),
    ]

    private let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Type checks the body of a function and answers what the compiler says, by line of the body.
    private func check(_ lines: [String]) throws -> [Int: String] {
        let source = """
            import NotificationContract
            import Notifications
            func probe(entry: String, user: UserID, category: CategoryID) {
            \(lines.joined(separator: "\n"))
            }
            """
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "varsel-privacy-\(UUID().uuidString)"
        )
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("Probe.swift")
        try source.write(to: file, atomically: true, encoding: .utf8)
        let binaries = try #require(ProcessInfo.processInfo.environment["VARSEL_TEST_BIN"])
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        // The package's name is that of its folder, as SwiftPM gives it to every target.
        process.arguments = [
            "swiftc", "-typecheck", "-swift-version", "6", "-package-name", root.lastPathComponent.lowercased(), "-I",
            binaries + "/Modules", file.path,
        ]
        let pipe = Pipe()
        process.standardError = pipe
        process.standardOutput = pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        var errors: [Int: String] = [:]
        for line in output.split(separator: "\n") {
            guard let match = line.firstMatch(of: /Probe\.swift:(\d+):\d+: error: (.*)/), let number = Int(match.1)
            else { continue }
            errors[number - 4] = String(match.2)
        }
        if process.terminationStatus != 0, errors.isEmpty { Issue.record("the compiler said: \(output)") }
        return errors
    }

    @Test func `a user's own words do not compile into a push (P10)`() throws {
        let errors = try check(Self.forbidden.map(\.1))
        for (index, (what, code)) in Self.forbidden.enumerated() {
            #expect(errors[index] != nil, "\(what) compiles: \(code)")
        }
    }

    @Test func `what the catalog and the operator say does compile (P10)`() throws {
        let errors = try check([
            "_ = NotificationText.literal(body: \"A programmer's words\")",
            "_ = NotificationText.catalog(key: \"k\", variables: [:])",
            "_ = NotificationText.catalog(key: \"k\", variables: [.tierName: PlaceholderValue(name: \"Premium\")])",
            "_ = NotificationJob(userID: user, category: category, text: .literal(body: \"x\"), title: \"Title\")",
            "_ = OperatorText(writtenByOperator: entry)",
        ])
        #expect(errors == [:])
    }

    @Test(arguments: [
        ("3 May 2026", true), ("3. mai 2026", true), ("2026年5月3日", true), ("2026. 5. 3.", true), ("٣ مايو", true),
        ("May", false), ("3 May\nhello", false), ("", false), ("<b>3</b>", false),
        ("3 " + String(repeating: "a", count: 40), false),
    ])
    func `a date that may stand in a push looks like one (P10)`(text: String, isDate: Bool) {
        #expect((PlaceholderValue(date: text) != nil) == isDate)
    }
}
