import Foundation
import Testing

@testable import ServiceRuntime

struct ConfigReaderTests {
    private enum Mode: String, CaseIterable { case fast, safe }

    @Test func `every problem is reported at once, with its name, the trouble and the way out`() throws {
        let reader = ConfigReader(environment: ["PORT": "abc", "LIMIT": "900", "WAIT": "soon", "MODE": "loud"])
        _ = reader.string("TOPIC", "The bundle id of the app.")
        _ = reader.int("PORT", default: 1, in: 1...9)
        _ = reader.int("LIMIT", default: 4, in: 1...100)
        _ = reader.duration("WAIT", default: .seconds(1), in: .seconds(1)...(.seconds(60)))
        _ = reader.choice("MODE", default: Mode.safe)
        let error = try #require(throws: ConfigError.self) { try reader.finish() }
        #expect(
            error.description == """
                5 problems in the configuration:
                  TOPIC: not set. The bundle id of the app.
                  PORT: "abc" is not a whole number. Set a whole number from 1 to 9.
                  LIMIT: 900 is out of range. Set a whole number from 1 to 100.
                  WAIT: "soon" is not a duration. Set a duration from 1s to 1m, such as 250ms, 20s, 15m, 24h or 7d.
                  MODE: "loud" is not known. Use one of: fast, safe.
                """
        )
    }

    @Test func `values that are set win over defaults, white space around them does not count`() throws {
        let reader = ConfigReader(environment: [
            "A": " x ", "N": "7", "L": "a, b,,c", "B": "yes", "M": "fast", "E": "  ",
        ])
        #expect(reader.string("A", default: "y") == "x")
        #expect(reader.int("N", default: 1, in: 0...10) == 7)
        #expect(reader.list("L") == ["a", "b", "c"])
        #expect(reader.bool("B", default: false))
        #expect(reader.choice("M", default: Mode.safe) == .fast)
        #expect(reader.string("E", default: "empty counts as unset") == "empty counts as unset")
        #expect(reader.optionalString("E") == nil)
        try reader.finish()
    }

    @Test(arguments: [
        ("250ms", 250), ("20s", 20_000), ("20 s", 20_000), ("20", 20_000), ("15m", 900_000), ("24h", 86_400_000),
        ("7d", 604_800_000), ("0s", 0),
    ])
    func `durations are read with their unit`(text: String, milliseconds: Int64) {
        #expect(DurationText.parse(text) == .milliseconds(milliseconds))
    }

    @Test(arguments: ["", "s", "-1s", "1.5h", "1y", "1  s", "9223372036854775807d", "٣s"])
    func `what is no duration is refused`(text: String) {
        #expect(DurationText.parse(text) == nil)
    }

    @Test(arguments: [
        ("127.0.0.1:8080", "127.0.0.1", 8080), ("[::1]:0", "::1", 0), (":9100", "0.0.0.0", 9100),
        ("localhost:65535", "localhost", 65535),
    ])
    func `listen addresses are read`(text: String, host: String, port: Int) {
        #expect(ListenAddress(text) == ListenAddress(host: host, port: port))
    }

    @Test(arguments: ["", "8080", "host:", "host:65536", "::1:80", "[::1]", "[]:80", "a b:80", "host:-1", "host:8o"])
    func `what is no listen address is refused`(text: String) {
        #expect(ListenAddress(text) == nil)
    }

    @Test(arguments: [
        ("redis://user:hunter2@host:1", "redis://user:***@host:1"),
        (
            "postgresql://u@h/db?password=hunter2&connect_timeout=3",
            "postgresql://u@h/db?password=***&connect_timeout=3"
        ),
        ("postgresql://u:hunter2@h/db?sslpassword=hunter2", "postgresql://u:***@h/db?sslpassword=***"),
        ("postgresql://u:hun?ter2@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u:hun#ter2@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u@h/db?pass%77ord=hunter2", "postgresql://u@h/db?pass%77ord=***"),
        ("redis://h:6379?password=hun@ter2", "redis://h:6379?password=***"),
        ("unix:///run/redis.sock?password=hunter2", "unix:///run/redis.sock?password=***"),
    ])
    func `the effective configuration hides passwords wherever a URL carries them`(url: String, shown: String) throws {
        let reader = ConfigReader(environment: ["SOME_URL": url])
        _ = reader.required("SOME_URL", "Set it.") { $0 }
        #expect(reader.effective.map(\.shown) == [shown])
    }

    @Test func `secrets appear in no text`() throws {
        let secret = "s3cr3t-that-nobody-may-see"
        let reader = ConfigReader(environment: [
            "SHORT": "tiny-secret", "LONG": secret, "DB": "postgresql://varsel:\(secret)@db:99/x",
            "BAD_URL": "ftp://user:\(secret)@host/", "TYPED": "redis://u:\(secret)@cache",
        ])
        _ = reader.secret("SHORT", "A token.", minimumLength: 32)
        #expect(reader.optionalSecret("LONG") == secret)
        _ = reader.url("DB", "The database.", schemes: ["postgresql"])
        _ = reader.url("BAD_URL", "The database.", schemes: ["postgresql"])
        _ = reader.required("TYPED", "The cache.", isSecret: false) { $0 }
        let error = try #require(throws: ConfigError.self) { try reader.finish() }
        let shown = error.description + reader.effective.map { "\($0.name)=\($0.shown)" }.joined(separator: "\n")
        #expect(!shown.contains(secret))
        #expect(!shown.contains("tiny-secret"))
        #expect(shown.contains("LONG=***"))
        #expect(shown.contains("DB=postgresql://varsel:***@db:99/x"))
        #expect(shown.contains("TYPED=redis://u:***@cache"))
        #expect(error.problems.map(\.name) == ["SHORT", "BAD_URL"])
    }

    @Test func `a secret may come from a file`() throws {
        let path = NSTemporaryDirectory() + UUID().uuidString
        try Data("  from-a-file\n".utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let reader = ConfigReader(environment: ["TOKEN_FILE": path])
        #expect(reader.secret("TOKEN", "A token.") == "from-a-file")
        try reader.finish()

        let both = ConfigReader(environment: ["TOKEN_FILE": path, "TOKEN": "x"])
        _ = both.secret("TOKEN", "A token.")
        #expect(throws: ConfigError.self) { try both.finish() }
    }

    @Test func `a file must exist and be no folder`() throws {
        let reader = ConfigReader(environment: ["A": "/nonexistent/key.p8", "B": "/tmp", "C": "/etc/passwd"])
        _ = reader.file("A", "The key.")
        _ = reader.file("B", "The key.")
        #expect(reader.optionalFile("C") == "/etc/passwd")
        let error = try #require(throws: ConfigError.self) { try reader.finish() }
        #expect(
            error.problems.map(\.problem) == [
                "\"/nonexistent/key.p8\" cannot be read: no such file or directory", "\"/tmp\" is a directory",
            ]
        )
    }

    @Test func `a parser of another module decides about its own values`() throws {
        struct Refusal: Error, CustomStringConvertible { let description = "rediss:// is not supported" }
        let reader = ConfigReader(environment: ["GOOD": "42", "BAD": "x"])
        let good = reader.required("GOOD", "A number.") { Int($0) ?? 0 }
        let bad: Required<Int> = reader.required("BAD", "Use redis://.") { _ in throw Refusal() }
        let none: Int? = reader.optional("NONE", "A number.") { Int($0) ?? 0 }
        #expect(try good.value == 42)
        #expect(none == nil)
        #expect(throws: ConfigError.self) { try bad.value }
        let error = try #require(throws: ConfigError.self) { try reader.finish() }
        #expect(error.description.contains("BAD: rediss:// is not supported. Use redis://."))
    }

    @Test func `a part that fails does not hide the problems of the next`() throws {
        struct Limits {
            let count: Int

            init(reading reader: ConfigReader) throws {
                count = reader.int("COUNT", default: 1, in: 1...9)
                try reader.finish()
                if count == 9 { throw ConfigError(name: "COUNT", problem: "9 is unlucky", fix: "Use another.") }
            }
        }
        let reader = ConfigReader(environment: ["COUNT": "none"])
        _ = reader.string("FIRST", "A name.")
        _ = try reader.part(Limits.init(reading:))
        _ = reader.string("LAST", "A name.")
        let error = try #require(throws: ConfigError.self) { try reader.finish() }
        #expect(error.problems.map(\.name) == ["FIRST", "COUNT", "LAST"])

        // A problem before a part does not keep the part from being read, and one that it throws itself is kept.
        let other = ConfigReader(environment: ["COUNT": "9"])
        _ = other.string("FIRST", "A name.")
        _ = try other.part(Limits.init(reading:))
        #expect(throws: ConfigError.self) { try other.finish() }
        #expect(other.problems.map(\.name) == ["FIRST", "COUNT"])

        let good = ConfigReader(environment: ["COUNT": "3"])
        let limits = try good.part(Limits.init(reading:))
        try good.finish()
        #expect(try limits.value.count == 3)
    }

    @Test func `a misspelt variable is noticed and the right name offered`() {
        let reader = ConfigReader(environment: [
            "APNS_KEYFILE": "x", "APNS_TOPIC": "t", "JWT_PUBLIC_KEY_FILES": "y", "HOME": "/root", "APNS_ZZZZZZZZZ": "",
            "DEV_API_TOKEN_FILE": "/run/token",
        ])
        #expect(
            reader.suspects() == [
                .init(name: "APNS_KEYFILE", suggestion: "APNS_KEY_FILE"),
                .init(name: "APNS_ZZZZZZZZZ", suggestion: nil),
                .init(name: "JWT_PUBLIC_KEY_FILES", suggestion: "JWT_PUBLIC_KEY_FILE"),
            ]
        )
    }
}
