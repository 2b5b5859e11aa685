/// Writes JSON bytes in the order it is told, without an encoder's cost: for logs, payloads and long lists.
///
/// Non-ASCII text stays raw UTF-8 and slashes stay bare, so that what is counted against a byte limit is what is sent.
package struct JSONWriter: Sendable {
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false

    package init(capacity: Int = 256) {
        bytes.reserveCapacity(capacity)
    }

    package var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Writes `{`, what `body` writes, and `}`.
    package mutating func object(_ body: (inout JSONWriter) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "{"))
        needsComma = false
        body(&self)
        bytes.append(UInt8(ascii: "}"))
        needsComma = true
    }

    /// Writes `[`, what `body` writes, and `]`.
    package mutating func array(_ body: (inout JSONWriter) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "["))
        needsComma = false
        body(&self)
        bytes.append(UInt8(ascii: "]"))
        needsComma = true
    }

    /// Writes a member's name and colon; its value must follow.
    package mutating func name(_ name: String) {
        separate()
        quoted(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    package mutating func string(_ value: String) {
        separate()
        quoted(value)
        needsComma = true
    }

    package mutating func integer(_ value: some BinaryInteger) {
        raw(String(value))
    }

    package mutating func bool(_ value: Bool) {
        raw(value ? "true" : "false")
    }

    package mutating func null() {
        raw("null")
    }

    /// Writes text that already is one JSON value.
    package mutating func raw(_ json: String) {
        separate()
        bytes.append(contentsOf: json.utf8)
        needsComma = true
    }

    package mutating func value(_ value: JSONValue) {
        switch value {
        case .null: null()
        case .bool(let flag): bool(flag)
        case .number(let number): raw(number.text)
        case .string(let text): string(text)
        case .array(let elements):
            array { writer in
                for element in elements { writer.value(element) }
            }
        case .object(let members):
            object { writer in
                for member in members {
                    writer.name(member.name)
                    writer.value(member.value)
                }
            }
        }
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    /// Most texts need no escape: what lies between two is copied as a whole.
    private mutating func quoted(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { characters in
            var start = 0
            for index in characters.indices where Self.isEscaped(characters[index]) {
                bytes.append(contentsOf: characters[start..<index])
                escape(characters[index])
                start = index + 1
            }
            bytes.append(contentsOf: characters[start...])
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// RFC 8259, section 7: quotation mark, reverse solidus and the control characters.
    private static func isEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case 0x0A: bytes.append(contentsOf: "\\n".utf8)
        case 0x0D: bytes.append(contentsOf: "\\r".utf8)
        case 0x09: bytes.append(contentsOf: "\\t".utf8)
        case ..<0x20: bytes.append(contentsOf: "\\u00\(Hex.encode([byte]))".utf8)
        default: bytes += [UInt8(ascii: "\\"), byte]
        }
    }
}

extension JSONWriter {
    /// Writes a string member.
    package mutating func member(_ name: String, _ value: String) {
        self.name(name)
        string(value)
    }

    /// Writes a string member, or nothing for `nil`.
    package mutating func member(_ name: String, optional value: String?) {
        if let value { member(name, value) }
    }

    /// Writes an integer member.
    package mutating func member(_ name: String, _ value: some BinaryInteger) {
        self.name(name)
        integer(value)
    }

    /// Writes a boolean member.
    package mutating func member(_ name: String, _ value: Bool) {
        self.name(name)
        bool(value)
    }
}

extension JSONValue {
    /// The value as compact JSON text.
    package var text: String {
        var writer = JSONWriter()
        writer.value(self)
        return writer.text
    }

    /// The value as compact JSON bytes.
    package var utf8: [UInt8] {
        var writer = JSONWriter()
        writer.value(self)
        return writer.bytes
    }
}
