/// A JSON value as it was read: numbers keep their text, objects keep their order and have no duplicate names.
///
/// Varsel reads JSON from strangers (tokens, requests, jobs of foreign producers) and needs what Foundation's decoder does
/// not offer: refusal of duplicate names, a depth limit, a place for every error, and a plain value to point into.
package enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case number(JSONNumber)
    case string(String)
    case array([JSONValue])
    case object([JSONMember])

    /// The member of an object, `nil` for a missing name and for anything that is not an object.
    package subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    package var stringValue: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    package var boolValue: Bool? {
        guard case .bool(let flag) = self else { return nil }
        return flag
    }

    /// The value as a whole number: `1`, `1.0` and `1e3` qualify, `"1"` and `1.5` do not.
    package var integerValue: Int64? {
        guard case .number(let number) = self else { return nil }
        return number.integer
    }

    package var arrayValue: [JSONValue]? {
        guard case .array(let values) = self else { return nil }
        return values
    }

    package var members: [JSONMember]? {
        guard case .object(let members) = self else { return nil }
        return members
    }

    package var isNull: Bool { self == .null }

    /// What kind of value it is, for error texts: "a string", "an object".
    package var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

/// One name and value of a JSON object.
package struct JSONMember: Sendable, Equatable {
    package let name: String
    package let value: JSONValue

    package init(_ name: String, _ value: JSONValue) {
        self.name = name
        self.value = value
    }
}

/// A JSON number, kept as the text that was read.
package struct JSONNumber: Sendable, Equatable {
    package let text: String

    package init(text: String) {
        self.text = text
    }

    /// The number when it is whole and fits 64 bits.
    package var integer: Int64? {
        if let value = Int64(text) { return value }
        guard let value = Double(text), value.rounded() == value, abs(value) < 9_007_199_254_740_992 else { return nil }
        return Int64(value)
    }

    package var double: Double? { Double(text) }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(elements.map { JSONMember($0.0, $0.1) })
    }
    package init(nilLiteral: ()) { self = .null }

    package static func integer(_ value: some BinaryInteger) -> JSONValue {
        .number(JSONNumber(text: String(value)))
    }

    /// The text as a string value, or null.
    package static func optional(_ value: String?) -> JSONValue {
        value.map(JSONValue.string) ?? .null
    }
}
