import Foundation
import Kernel

/// Checks values against the JSON schemas of an OpenAPI document. A keyword it does not know is an error, so that none is passed
/// over in silence.
struct SchemaValidator {
    private static let ignored: Set<String> = ["description", "example", "examples", "title", "default", "deprecated"]

    let document: JSONValue

    /// What is wrong, one line each.
    func faults(_ value: JSONValue, _ schema: JSONValue, at place: String = "") -> [String] {
        var faults: [String] = []
        for keyword in schema.members ?? [] {
            faults += self.faults(value, keyword.name, keyword.value, schema, place)
        }
        return faults
    }

    private func faults(
        _ value: JSONValue,
        _ keyword: String,
        _ rule: JSONValue,
        _ schema: JSONValue,
        _ place: String
    ) -> [String] {
        func fail(_ text: String) -> [String] { ["\(place.isEmpty ? "/" : place): \(text)"] }
        let number = rule.integerValue.map(Int.init)
        switch keyword {
        case "$ref":
            guard let target = resolve(rule) else { return fail("\(rule.text) leads nowhere") }
            return faults(value, target, at: place)
        case "type":
            let types = rule.arrayValue?.compactMap(\.stringValue) ?? [rule.stringValue ?? ""]
            return types.contains(where: { isOf($0, value) }) ? [] : fail("\(value.kind) is not \(types)")
        case "enum":
            return rule.arrayValue?.contains(value) ?? false ? [] : fail("\(value.text) is not one of \(rule.text)")
        case "required":
            guard value.members != nil else { return [] }
            return (rule.arrayValue ?? []).compactMap(\.stringValue).flatMap {
                value[$0] == nil ? fail("\($0) is missing") : []
            }
        case "properties":
            return (rule.members ?? []).flatMap { member in
                value[member.name].map { faults($0, member.value, at: "\(place)/\(member.name)") } ?? []
            }
        case "additionalProperties":
            let known = Set((schema["properties"]?.members ?? []).map(\.name))
            return (value.members ?? []).filter { !known.contains($0.name) }.flatMap {
                faults($0.value, rule, at: "\(place)/\($0.name)")
            }
        case "items":
            return (value.arrayValue ?? []).enumerated().flatMap { faults($1, rule, at: "\(place)/\($0)") }
        case "anyOf":
            let tries = (rule.arrayValue ?? []).map { faults(value, $0, at: place) }
            return tries.contains([]) ? [] : fail("fits none: \(tries.map { $0.first ?? "" })")
        case "oneOf":
            let count = (rule.arrayValue ?? []).count { faults(value, $0, at: place).isEmpty }
            return count == 1 ? [] : fail("fits \(count) instead of one")
        case "allOf": return (rule.arrayValue ?? []).flatMap { faults(value, $0, at: place) }
        case "minLength": return bound(value.stringValue?.unicodeScalars.count, number, <) ? fail("too short") : []
        case "maxLength": return bound(value.stringValue?.unicodeScalars.count, number, >) ? fail("too long") : []
        case "minItems": return bound(value.arrayValue?.count, number, <) ? fail("too few") : []
        case "maxItems": return bound(value.arrayValue?.count, number, >) ? fail("too many") : []
        case "maxProperties": return bound(value.members?.count, number, >) ? fail("too many members") : []
        case "minimum": return bound(value.integerValue.map(Int.init), number, <) ? fail("too small") : []
        case "maximum": return bound(value.integerValue.map(Int.init), number, >) ? fail("too large") : []
        case "pattern":
            guard let text = value.stringValue, let pattern = rule.stringValue else { return [] }
            let matches = text.range(of: pattern, options: .regularExpression) != nil
            return matches ? [] : fail("\(text) does not match \(pattern)")
        case "format":
            guard let text = value.stringValue else { return [] }
            switch rule.stringValue {
            case "date-time": return Timestamp(rfc3339: text) == nil ? fail("\(text) is no date-time") : []
            case "uuid": return UUID(uuidString: text) == nil ? fail("\(text) is no UUID") : []
            default: return fail("unknown format \(rule.text)")
            }
        default: return Self.ignored.contains(keyword) ? [] : fail("unknown keyword \(keyword)")
        }
    }

    private func resolve(_ reference: JSONValue) -> JSONValue? {
        var found: JSONValue? = document
        for part in (reference.stringValue ?? "").split(separator: "/").dropFirst() { found = found?[String(part)] }
        return found
    }

    private func isOf(_ type: String, _ value: JSONValue) -> Bool {
        switch (type, value) {
        case ("object", .object), ("array", .array), ("string", .string), ("boolean", .bool), ("null", .null),
            ("number", .number):
            true
        case ("integer", .number): value.integerValue != nil
        default: false
        }
    }

    private func bound(_ value: Int?, _ limit: Int?, _ isWrong: (Int, Int) -> Bool) -> Bool {
        guard let value, let limit else { return false }
        return isWrong(value, limit)
    }
}
