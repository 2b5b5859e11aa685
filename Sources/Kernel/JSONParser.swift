/// Why a text is not acceptable JSON, and where.
package struct JSONError: Error, Equatable, CustomStringConvertible {
    package let message: String
    /// The byte at which reading stopped, counted from 0.
    package let offset: Int

    package var description: String { "\(message) at byte \(offset)" }
}

/// Limits for reading JSON from outside.
package struct JSONLimits: Sendable {
    /// How deep arrays and objects may nest.
    package var depth: Int
    /// How many values may stand in the whole text.
    package var values: Int

    package init(depth: Int = 32, values: Int = 100_000) {
        self.depth = depth
        self.values = values
    }
}

extension JSONValue {
    /// Reads one JSON text (RFC 8259), strictly: UTF-8 without a byte order mark, nothing after the value, no duplicate names,
    /// no lone surrogates, no NUL characters.
    /// - Throws: `JSONError` with the place.
    package init(parsing bytes: some Sequence<UInt8>, limits: JSONLimits = JSONLimits()) throws(JSONError) {
        var parser = JSONParser(bytes: Array(bytes), limits: limits)
        self = try parser.document()
    }

    /// Reads one JSON text, as `init(parsing:limits:)` does.
    package init(parsing text: String, limits: JSONLimits = JSONLimits()) throws(JSONError) {
        try self.init(parsing: text.utf8, limits: limits)
    }
}

private struct JSONParser {
    private let bytes: [UInt8]
    private let limits: JSONLimits
    private var position = 0
    private var values = 0

    init(bytes: [UInt8], limits: JSONLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    mutating func document() throws(JSONError) -> JSONValue {
        skipSpace()
        let value = try self.value(depth: 0)
        skipSpace()
        guard position == bytes.count else { throw error("unexpected text after the value") }
        return value
    }

    private func error(_ message: String) -> JSONError { JSONError(message: message, offset: position) }

    private mutating func skipSpace() {
        while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) { position += 1 }
    }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func value(depth: Int) throws(JSONError) -> JSONValue {
        guard depth <= limits.depth else { throw error("nested deeper than \(limits.depth) levels") }
        values += 1
        guard values <= limits.values else { throw error("more than \(limits.values) values") }
        guard let first = current else { throw error("unexpected end") }
        switch first {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
        default: throw error("unexpected character")
        }
    }

    private mutating func literal(_ text: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
        let length = text.utf8CodeUnitCount
        guard position + length <= bytes.count else { throw error("unexpected end") }
        for index in 0..<length where bytes[position + index] != text.utf8Start[index] {
            throw error("unexpected character")
        }
        position += length
        return value
    }

    private mutating func array(depth: Int) throws(JSONError) -> JSONValue {
        position += 1
        var elements: [JSONValue] = []
        skipSpace()
        if current == UInt8(ascii: "]") {
            position += 1
            return .array(elements)
        }
        while true {
            skipSpace()
            elements.append(try value(depth: depth + 1))
            skipSpace()
            if try closes(with: UInt8(ascii: "]")) { return .array(elements) }
        }
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSONValue {
        position += 1
        var members: [JSONMember] = []
        var names: Set<String> = []
        skipSpace()
        if current == UInt8(ascii: "}") {
            position += 1
            return .object(members)
        }
        while true {
            skipSpace()
            guard current == UInt8(ascii: "\"") else { throw error("a name in double quotes is missing") }
            let name = try string()
            guard names.insert(name).inserted else { throw error("duplicate name") }
            skipSpace()
            guard current == UInt8(ascii: ":") else { throw error("a colon is missing") }
            position += 1
            skipSpace()
            members.append(JSONMember(name, try value(depth: depth + 1)))
            skipSpace()
            if try closes(with: UInt8(ascii: "}")) { return .object(members) }
        }
    }

    private mutating func closes(with end: UInt8) throws(JSONError) -> Bool {
        guard let byte = current else { throw error("unexpected end") }
        guard byte == end || byte == UInt8(ascii: ",") else { throw error("a comma is missing") }
        position += 1
        return byte == end
    }

    private mutating func number() throws(JSONError) -> JSONValue {
        let start = position
        if current == UInt8(ascii: "-") { position += 1 }
        guard let first = current, isDigit(first) else { throw error("a digit is missing") }
        if first == UInt8(ascii: "0") { position += 1 } else { skipDigits() }
        if current == UInt8(ascii: ".") {
            position += 1
            guard let digit = current, isDigit(digit) else { throw error("a digit is missing") }
            skipDigits()
        }
        if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
            position += 1
            if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { position += 1 }
            guard let digit = current, isDigit(digit) else { throw error("a digit is missing") }
            skipDigits()
        }
        guard position - start <= 64 else { throw error("a number longer than 64 characters") }
        return .number(JSONNumber(text: String(decoding: bytes[start..<position], as: UTF8.self)))
    }

    private func isDigit(_ byte: UInt8) -> Bool { byte >= 48 && byte <= 57 }

    private mutating func skipDigits() {
        while let byte = current, isDigit(byte) { position += 1 }
    }

    private mutating func string() throws(JSONError) -> String {
        position += 1
        let start = position
        while let byte = current, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 { position += 1 }
        if current == UInt8(ascii: "\"") {
            let text = try decoded(bytes[start..<position])
            position += 1
            return text
        }
        var buffer = Array(bytes[start..<position])
        while true {
            guard let byte = current else { throw error("unexpected end in a string") }
            switch byte {
            case UInt8(ascii: "\""):
                let text = try decoded(buffer[...])
                position += 1
                return text
            case UInt8(ascii: "\\"):
                position += 1
                try escape(into: &buffer)
            case ..<0x20:
                throw error("a control character in a string")
            default:
                buffer.append(byte)
                position += 1
            }
        }
    }

    private func decoded(_ slice: ArraySlice<UInt8>) throws(JSONError) -> String {
        guard let text = String(validating: slice, as: UTF8.self) else { throw error("invalid UTF-8 in a string") }
        return text
    }

    private mutating func escape(into buffer: inout [UInt8]) throws(JSONError) {
        guard let byte = current else { throw error("unexpected end in a string") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): buffer.append(byte)
        case UInt8(ascii: "b"): buffer.append(0x08)
        case UInt8(ascii: "f"): buffer.append(0x0C)
        case UInt8(ascii: "n"): buffer.append(0x0A)
        case UInt8(ascii: "r"): buffer.append(0x0D)
        case UInt8(ascii: "t"): buffer.append(0x09)
        case UInt8(ascii: "u"): try unicodeEscape(into: &buffer)
        default: throw error("an unknown escape")
        }
    }

    private mutating func unicodeEscape(into buffer: inout [UInt8]) throws(JSONError) {
        var code = try fourHexDigits()
        if (0xD800..<0xDC00).contains(code) {
            guard current == UInt8(ascii: "\\"), position + 1 < bytes.count, bytes[position + 1] == UInt8(ascii: "u")
            else {
                throw error("a lone surrogate")
            }
            position += 2
            let low = try fourHexDigits()
            guard (0xDC00..<0xE000).contains(low) else { throw error("a lone surrogate") }
            code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
        }
        guard code != 0 else { throw error("a NUL character") }
        guard let scalar = Unicode.Scalar(code) else { throw error("a lone surrogate") }
        buffer.append(contentsOf: Array(String(Character(scalar)).utf8))
    }

    private mutating func fourHexDigits() throws(JSONError) -> UInt32 {
        guard position + 4 <= bytes.count,
            let pair = Hex.decode(String(decoding: bytes[position..<position + 4], as: UTF8.self))
        else { throw error("four hexadecimal digits are missing") }
        position += 4
        return UInt32(pair[0]) << 8 | UInt32(pair[1])
    }
}
