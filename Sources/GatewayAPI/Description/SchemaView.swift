import Kernel

/// A JSON schema as HTML: a line for what it is, a list for what it holds.
struct SchemaView {
    private let schema: JSONValue

    init(_ schema: JSONValue) {
        self.schema = schema
    }

    /// The whole schema. Named ones are linked to, so nothing here goes round in circles.
    var html: String {
        let text = schema["description"]?.stringValue.map { " \(HTMLText.inline($0))" } ?? ""
        return line + text + parts
    }

    /// What it is, in a few words.
    var line: String {
        if let name = schema["$ref"]?.stringValue?.split(separator: "/").last {
            let name = HTMLText.escaped(String(name))
            return "<a href=\"#schema-\(name)\">\(name)</a>"
        }
        var words: [String] = []
        switch schema["type"] {
        case .string(let type)?: words.append(type)
        case .array(let types)?: words.append(types.compactMap(\.stringValue).joined(separator: " or "))
        default: break
        }
        if let format = schema["format"]?.stringValue { words.append("(\(format))") }
        if let choices = schema["enum"]?.arrayValue {
            words.append("one of \(choices.map(\.text).joined(separator: ", "))")
        }
        for (name, word) in [
            ("minLength", "at least"), ("maxLength", "at most"), ("minimum", "from"), ("maximum", "to"),
            ("minItems", "at least"), ("maxItems", "at most"),
        ] {
            if let bound = schema[name]?.integerValue { words.append("\(word) \(bound)") }
        }
        return words.isEmpty ? "" : "<i>\(HTMLText.escaped(words.joined(separator: " ")))</i>"
    }

    private var parts: String {
        var items: [String] = []
        let required = Set((schema["required"]?.arrayValue ?? []).compactMap(\.stringValue))
        for member in schema["properties"]?.members ?? [] {
            let mark = required.contains(member.name) ? " <span class=\"req\">required</span>" : ""
            items.append("<code>\(HTMLText.escaped(member.name))</code>\(mark) \(SchemaView(member.value).html)")
        }
        if let element = schema["items"] { items.append("each: \(SchemaView(element).html)") }
        if let value = schema["additionalProperties"], value.members?.isEmpty == false {
            items.append("each member: \(SchemaView(value).html)")
        }
        for (name, word) in [("anyOf", "either"), ("allOf", ""), ("oneOf", "exactly one")] {
            for part in schema[name]?.arrayValue ?? [] {
                let needed = (part["required"]?.arrayValue ?? []).compactMap(\.stringValue)
                if part["properties"] == nil, !needed.isEmpty {
                    items.append("\(word): with <code>\(HTMLText.escaped(needed.joined(separator: ", ")))</code>")
                } else {
                    items.append("\(word) \(SchemaView(part).html)")
                }
            }
        }
        return items.isEmpty ? "" : "<ul>\(items.map { "<li>\($0)</li>" }.joined())</ul>"
    }
}

/// Text as HTML.
enum HTMLText {
    static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.append(character)
            }
        }
        return result
    }

    /// Escaped, with what stands between backquotes as code.
    static func inline(_ text: String) -> String {
        text.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .map { index, part in
                index % 2 == 1 ? "<code>\(escaped(String(part)))</code>" : escaped(String(part))
            }
            .joined()
    }

    /// JSON over several lines.
    static func indented(_ value: JSONValue, depth: Int = 0) -> String {
        let pad = String(repeating: "  ", count: depth + 1)
        let end = String(repeating: "  ", count: depth)
        switch value {
        case .object(let members) where !members.isEmpty:
            let lines = members.map { member in
                "\(pad)\(JSONValue.string(member.name).text): \(indented(member.value, depth: depth + 1))"
            }
            return "{\n\(lines.joined(separator: ",\n"))\n\(end)}"
        case .array(let elements) where !elements.isEmpty:
            return "[\n\(elements.map { pad + indented($0, depth: depth + 1) }.joined(separator: ",\n"))\n\(end)]"
        default: return value.text
        }
    }
}
