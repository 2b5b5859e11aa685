/// One statement with its bound values.
///
/// An interpolated value becomes a parameter with its type, such as `$1::text[]`, and never part of the text. Raw text needs
/// the spelling `\(unescaped:)`, so that a reviewer sees it. Equal texts share a prepared statement.
package struct SQL: Sendable, ExpressibleByStringInterpolation {
    package let text: String
    /// Every value as PostgreSQL's text form, closed by a zero byte, one after another.
    let values: PostgresValueWriter

    /// The bound values in PostgreSQL's text form, in the order of their numbers, `nil` for NULL. For showing a statement with
    /// its values, never for sending one.
    package var boundTexts: [String?] { values.texts }

    /// The values as PostgreSQL reads them, `nil` for NULL: for tools that run the same statement elsewhere.
    package var parameters: [String?] { values.texts }

    package init(stringLiteral value: String) {
        text = value
        values = PostgresValueWriter()
    }

    package init(stringInterpolation: StringInterpolation) {
        text = stringInterpolation.text
        values = stringInterpolation.values
    }

    /// Collects text and values of an interpolated statement.
    package struct StringInterpolation: StringInterpolationProtocol {
        var text: String
        var values = PostgresValueWriter()

        package init(literalCapacity: Int, interpolationCount: Int) {
            text = ""
            text.reserveCapacity(literalCapacity + interpolationCount * 12)
        }

        package mutating func appendLiteral(_ literal: String) {
            text += literal
        }

        /// Binds a value.
        package mutating func appendInterpolation<Value: PostgresBindable>(_ value: Value) {
            placeholder(Value.postgresType)
            values.bind { value.write(to: &$0) }
        }

        /// Binds a value that may be NULL. The compiler takes an optional for a mistake where there is no such function.
        package mutating func appendInterpolation<Value: PostgresBindable>(_ value: Value?) {
            placeholder(Value.postgresType)
            values.bind { writer in value?.write(to: &writer) ?? false }
        }

        /// Binds bytes as `bytea`.
        package mutating func appendInterpolation(_ bytes: [UInt8]) {
            placeholder("bytea")
            values.bind { writer in
                writer.append(ascii: "\\x")
                writer.append(hexOf: bytes)
                return true
            }
        }

        /// Puts text into the statement as it is. Only the program's own text may go here.
        package mutating func appendInterpolation(unescaped text: String) {
            self.text += text
        }

        /// Puts another statement in, text and values; its numbers are shifted behind those that stand here already. It must not
        /// hold a dollar sign of its own.
        package mutating func appendInterpolation(_ part: SQL) {
            let shift = values.offsets.count
            var rest = part.text[...]
            while let dollar = rest.firstIndex(of: "$") {
                text += rest[...dollar]
                rest = rest[rest.index(after: dollar)...]
                let digits = rest.prefix { $0.isASCII && $0.isNumber }
                if let number = Int(digits) { text += String(number + shift) }
                rest = rest[digits.endIndex...]
            }
            text += rest
            values.append(part.values)
        }

        mutating func placeholder(_ type: String) {
            text += "$\(values.offsets.count + 1)::\(type)"
        }
    }
}
