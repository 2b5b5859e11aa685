/// One part of a command: its name, a key or an argument.
package enum RedisArgument: Sendable, Equatable, ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
    ExpressibleByIntegerLiteral
{
    case string(String)
    case bytes([UInt8])
    case integer(Int64)

    package init(stringLiteral value: String) {
        self = .string(value)
    }

    package init(integerLiteral value: Int64) {
        self = .integer(value)
    }

    package init(_ value: String) {
        self = .string(value)
    }

    package init(_ value: Int) {
        self = .integer(Int64(value))
    }
}

/// One command, already in the form it has on the wire, so that the work of writing it is done by the calling task.
package struct RedisCommand: Sendable {
    /// The command as a RESP array of bulk strings.
    let encoded: [UInt8]
    /// The first part, for messages.
    let name: String

    package init(_ parts: [RedisArgument]) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(parts.reduce(16) { $0 + Self.size($1) })
        bytes.append(UInt8(ascii: "*"))
        Self.appendLine(Int64(parts.count), to: &bytes)
        for part in parts {
            switch part {
            case .string(var text):
                text.withUTF8 { Self.appendBulk($0, to: &bytes) }
            case .bytes(let value):
                value.withUnsafeBufferPointer { Self.appendBulk($0, to: &bytes) }
            case .integer(let value):
                var text = String(value)
                text.withUTF8 { Self.appendBulk($0, to: &bytes) }
            }
        }
        encoded = bytes
        if case .string(let first)? = parts.first { name = first } else { name = "?" }
    }

    private static func size(_ part: RedisArgument) -> Int {
        switch part {
        case .string(let text): text.utf8.count + 12
        case .bytes(let value): value.count + 12
        case .integer: 28
        }
    }

    private static func appendBulk(_ value: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "$"))
        appendLine(Int64(value.count), to: &bytes)
        bytes.append(contentsOf: value)
        bytes.append(13)
        bytes.append(10)
    }

    private static func appendLine(_ number: Int64, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: String(number).utf8)
        bytes.append(13)
        bytes.append(10)
    }
}
