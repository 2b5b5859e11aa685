import Kernel

/// Reads the members of one JSON object and gathers what is wrong with them.
struct FieldReader {
    private let object: JSONValue
    private let pointer: String
    private(set) var problems: [FieldProblem] = []

    init(value: JSONValue, pointer: String) {
        object = value
        self.pointer = pointer
    }

    mutating func report(_ name: String, _ reason: String, _ message: String) {
        problems.append(FieldProblem(pointer: "\(pointer)/\(name)", reason: reason, message: message))
    }

    /// The member's value; null counts as absent.
    func value(_ name: String) -> JSONValue? {
        guard let value = object[name], !value.isNull else { return nil }
        return value
    }

    /// A string that must be there.
    mutating func required(_ name: String, reason: String) -> String? {
        guard let value = value(name) else {
            report(name, reason, "is missing")
            return nil
        }
        guard let text = value.stringValue else {
            report(name, reason, "must be a string, not \(value.kind)")
            return nil
        }
        return text
    }

    /// An optional string of at most `limit` UTF-8 bytes.
    mutating func text(_ name: String, limit: Int, reason: String) -> String? {
        guard let value = value(name) else { return nil }
        guard let text = value.stringValue else {
            report(name, reason, "must be a string, not \(value.kind)")
            return nil
        }
        guard text.utf8.count <= limit else {
            report(name, reason, "is \(text.utf8.count) bytes long; at most \(limit) are allowed")
            return nil
        }
        return text
    }

    /// An optional identifier of the characters `A-Z a-z 0-9 _ - : .`.
    mutating func identifier(_ name: String, limit: Int) -> String? {
        let reason = "invalid_source_entity"
        guard let text = text(name, limit: limit, reason: reason) else { return nil }
        let allowed = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: ":"),
                UInt8(ascii: "."):
                true
            default: false
            }
        }
        guard allowed, !text.isEmpty else {
            report(name, reason, "must be 1 to \(limit) characters of A-Z a-z 0-9 _ - : .")
            return nil
        }
        return text
    }
}
