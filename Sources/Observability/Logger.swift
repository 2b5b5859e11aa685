import Glibc
package import Kernel
import Synchronization

/// How much a log line matters.
package enum LogLevel: Int, Sendable, Comparable, CaseIterable {
    /// For developers: what a component did and why.
    case debug
    /// What an operator wants to see once: started, stopped, a partition made.
    case info
    /// Something was lost for a while and mended: a connection, a retry.
    case warning
    /// Something needs a person.
    case error

    package var name: String {
        switch self {
        case .debug: "debug"
        case .info: "info"
        case .warning: "warning"
        case .error: "error"
        }
    }

    package init?(name: String) {
        guard let level = LogLevel.allCases.first(where: { $0.name == name }) else { return nil }
        self = level
    }

    package static func < (lhs: LogLevel, rhs: LogLevel) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// Where log lines go.
package protocol LogSink: Sendable {
    /// Takes one line of JSON without its newline.
    func write(_ line: [UInt8])
}

/// Writes log lines to standard error, one `write` call a line so that lines of several threads never mix.
package struct StandardErrorSink: LogSink {
    package init() {}

    package func write(_ line: [UInt8]) {
        var bytes = line
        bytes.append(UInt8(ascii: "\n"))
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}

/// Keeps log lines in memory, for tests.
package final class MemorySink: LogSink {
    private let stored = Mutex<[String]>([])

    package init() {}

    package var lines: [String] { stored.withLock { $0 } }

    package func write(_ line: [UInt8]) {
        stored.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
    }
}

/// Structured JSON logs: a fixed message and fields. Values never go into the message, so that lines can be counted by it.
///
/// Never pass a secret or a full device token; shorten tokens with `shortened`.
package struct Logger: Sendable {
    private let service: String
    private let level: LogLevel
    private let sink: any LogSink
    private let clock: any WallClock
    private let context: [(name: String, value: JSONValue)]

    package init(
        service: String,
        level: LogLevel = .info,
        sink: any LogSink = StandardErrorSink(),
        clock: any WallClock = SystemWallClock()
    ) {
        self.init(service: service, level: level, sink: sink, clock: clock, context: [])
    }

    private init(
        service: String,
        level: LogLevel,
        sink: any LogSink,
        clock: any WallClock,
        context: [(name: String, value: JSONValue)]
    ) {
        self.service = service
        self.level = level
        self.sink = sink
        self.clock = clock
        self.context = context
    }

    /// A logger that adds the fields to each of its lines, such as a request or job id.
    package func with(_ fields: KeyValuePairs<String, JSONValue>) -> Logger {
        Logger(
            service: service,
            level: level,
            sink: sink,
            clock: clock,
            context: context + fields.map { (name: $0.key, value: $0.value) }
        )
    }

    /// Whether lines of this level are written: asked before fields that cost something are put together.
    package func records(_ level: LogLevel) -> Bool { level >= self.level }

    package func debug(_ message: StaticString, _ fields: KeyValuePairs<String, JSONValue> = [:]) {
        log(.debug, message, fields)
    }

    package func info(_ message: StaticString, _ fields: KeyValuePairs<String, JSONValue> = [:]) {
        log(.info, message, fields)
    }

    package func warning(_ message: StaticString, _ fields: KeyValuePairs<String, JSONValue> = [:]) {
        log(.warning, message, fields)
    }

    package func error(_ message: StaticString, _ fields: KeyValuePairs<String, JSONValue> = [:]) {
        log(.error, message, fields)
    }

    private func log(_ level: LogLevel, _ message: StaticString, _ fields: KeyValuePairs<String, JSONValue>) {
        guard level >= self.level else { return }
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("time", clock.now.rfc3339)
            writer.member("level", level.name)
            writer.member("service", service)
            writer.member("message", message.description)
            for (name, value) in context {
                writer.name(name)
                writer.value(value)
            }
            for (name, value) in fields {
                writer.name(name)
                writer.value(value)
            }
        }
        sink.write(writer.bytes)
    }
}

extension String {
    /// The first eight characters and an ellipsis: enough to tell two device tokens apart, too little to use one.
    package var shortened: String { count > 8 ? prefix(8) + "…" : self }
}

extension JSONValue {
    /// An error as a log field: its own description.
    package static func error(_ error: any Error) -> JSONValue { .string(String(describing: error)) }
}
