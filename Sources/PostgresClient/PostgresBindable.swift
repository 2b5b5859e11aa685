package import Kernel

/// A value that can be a parameter of a statement.
package protocol PostgresBindable: Sendable {
    /// PostgreSQL's name of the type.
    static var postgresType: String { get }
    /// Whether an element of an array has to stand in quotes.
    static var isQuotedInArrays: Bool { get }
    /// Writes PostgreSQL's text form.
    /// - Returns: `false` for NULL.
    func write(to writer: inout PostgresValueWriter) -> Bool
}

extension String: PostgresBindable {
    package static var postgresType: String { "text" }
    package static var isQuotedInArrays: Bool { true }
    package func write(to writer: inout PostgresValueWriter) -> Bool {
        writer.append(self)
        return true
    }
}

extension Int64: PostgresBindable {
    package static var postgresType: String { "bigint" }
    package static var isQuotedInArrays: Bool { false }
    package func write(to writer: inout PostgresValueWriter) -> Bool {
        writer.append(ascii: String(self))
        return true
    }
}

extension Int: PostgresBindable {
    package static var postgresType: String { "bigint" }
    package static var isQuotedInArrays: Bool { false }
    package func write(to writer: inout PostgresValueWriter) -> Bool {
        writer.append(ascii: String(self))
        return true
    }
}

extension Bool: PostgresBindable {
    package static var postgresType: String { "boolean" }
    package static var isQuotedInArrays: Bool { false }
    package func write(to writer: inout PostgresValueWriter) -> Bool {
        writer.append(ascii: self ? "t" : "f")
        return true
    }
}

extension Double: PostgresBindable {
    package static var postgresType: String { "double precision" }
    package static var isQuotedInArrays: Bool { false }
    package func write(to writer: inout PostgresValueWriter) -> Bool {
        writer.append(ascii: String(self))
        return true
    }
}

extension UUIDBits: PostgresBindable {
    package static var postgresType: String { "uuid" }
    package static var isQuotedInArrays: Bool { false }
    package func write(to writer: inout PostgresValueWriter) -> Bool {
        // uuid_in takes the digits without hyphens, which saves writing them.
        writer.append(hexOf: high)
        writer.append(hexOf: low)
        return true
    }
}

extension Timestamp: PostgresBindable {
    package static var postgresType: String { "timestamptz" }
    package static var isQuotedInArrays: Bool { false }
    package func write(to writer: inout PostgresValueWriter) -> Bool {
        writer.append(self)
        return true
    }
}

extension JSONValue: PostgresBindable {
    package static var postgresType: String { "jsonb" }
    package static var isQuotedInArrays: Bool { true }
    package func write(to writer: inout PostgresValueWriter) -> Bool {
        writer.append(text)
        return true
    }
}

/// Text that already is JSON, bound as `jsonb`.
package struct JSONText: PostgresBindable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    package static var postgresType: String { "jsonb" }
    package static var isQuotedInArrays: Bool { true }
    package func write(to writer: inout PostgresValueWriter) -> Bool {
        writer.append(text)
        return true
    }
}

extension Optional: PostgresBindable where Wrapped: PostgresBindable {
    package static var postgresType: String { Wrapped.postgresType }
    package static var isQuotedInArrays: Bool { Wrapped.isQuotedInArrays }
    package func write(to writer: inout PostgresValueWriter) -> Bool {
        guard let self else { return false }
        return self.write(to: &writer)
    }
}

/// An array becomes PostgreSQL's array literal, for `unnest` and `= ANY`.
extension Array: PostgresBindable where Element: PostgresBindable {
    package static var postgresType: String { Element.postgresType + "[]" }
    /// Arrays of arrays are not supported by any statement here; a nested literal would need no quotes.
    package static var isQuotedInArrays: Bool { false }
    package func write(to writer: inout PostgresValueWriter) -> Bool {
        writer.array(of: self)
        return true
    }
}
