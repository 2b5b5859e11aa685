package import Kernel

/// A statement with its values. Interpolation binds: `"… WHERE id = \(id)"` sends `$1` and the value apart from the text, so a
/// value can never become SQL. Raw text needs the spelling `\(unescaped:)`, which a reviewer sees.
package struct SQL: ExpressibleByStringInterpolation, Sendable {
    /// The text with `$1::type` in place of the values. Equal texts share a prepared statement.
    package let text: String
    let values: [String?]

    package init(stringLiteral value: String) {
        text = value
        values = []
    }

    package init(stringInterpolation: StringInterpolation) {
        text = stringInterpolation.text
        values = stringInterpolation.values
    }

    /// Gathers text and bound values.
    package struct StringInterpolation: StringInterpolationProtocol {
        var text = ""
        var values: [String?] = []

        package init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + interpolationCount * 12)
        }

        package mutating func appendLiteral(_ literal: String) {
            text += literal
        }

        package mutating func appendInterpolation<Value: PostgresBindable>(_ value: Value) {
            values.append(value.postgresText)
            text += "$\(values.count)::\(Value.postgresType)"
        }

        package mutating func appendInterpolation<Value: PostgresBindable>(_ value: Value?) {
            values.append(value?.postgresText)
            text += "$\(values.count)::\(Value.postgresType)"
        }

        /// Puts text in as it is. For names of tables and columns from our own code only.
        package mutating func appendInterpolation(unescaped raw: String) {
            text += raw
        }
    }
}

/// A value that can be bound to a statement.
package protocol PostgresBindable: Sendable {
    /// The PostgreSQL type the value is cast to.
    static var postgresType: String { get }
    /// The value in PostgreSQL's text form, `nil` for NULL.
    var postgresText: String? { get }
}

extension String: PostgresBindable {
    package static var postgresType: String { "text" }
    package var postgresText: String? { self }
}

extension Int: PostgresBindable {
    package static var postgresType: String { "bigint" }
    package var postgresText: String? { String(self) }
}

extension Int64: PostgresBindable {
    package static var postgresType: String { "bigint" }
    package var postgresText: String? { String(self) }
}

extension Bool: PostgresBindable {
    package static var postgresType: String { "boolean" }
    package var postgresText: String? { self ? "t" : "f" }
}

extension Double: PostgresBindable {
    package static var postgresType: String { "double precision" }
    package var postgresText: String? { String(self) }
}

extension UUIDBits: PostgresBindable {
    package static var postgresType: String { "uuid" }
    package var postgresText: String? { description }
}

extension Timestamp: PostgresBindable {
    package static var postgresType: String { "timestamptz" }
    package var postgresText: String? { rfc3339 }
}

extension JSONValue: PostgresBindable {
    package static var postgresType: String { "jsonb" }
    package var postgresText: String? { text }
}

/// JSON that is text already, bound as `jsonb` without being parsed here.
package struct JSONText: PostgresBindable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    package static var postgresType: String { "jsonb" }
    package var postgresText: String? { text }
}

extension Optional: PostgresBindable where Wrapped: PostgresBindable {
    package static var postgresType: String { Wrapped.postgresType }
    package var postgresText: String? { self?.postgresText }
}

extension Array: PostgresBindable where Element: PostgresBindable {
    package static var postgresType: String { Element.postgresType + "[]" }

    /// PostgreSQL's array literal: every element quoted, NULL bare.
    package var postgresText: String? {
        var output: [UInt8] = [UInt8(ascii: "{")]
        output.reserveCapacity(count * 24)
        for (index, element) in enumerated() {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            guard let text = element.postgresText else {
                output.append(contentsOf: "NULL".utf8)
                continue
            }
            output.append(UInt8(ascii: "\""))
            for byte in text.utf8 {
                if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { output.append(UInt8(ascii: "\\")) }
                output.append(byte)
            }
            output.append(UInt8(ascii: "\""))
        }
        output.append(UInt8(ascii: "}"))
        return String(decoding: output, as: UTF8.self)
    }
}
