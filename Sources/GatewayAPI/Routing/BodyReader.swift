import HTTPServer
import Kernel

/// Reads the members of a request's JSON object and gathers everything that is wrong with them, so that a client learns of
/// all faults at once. Members nobody asks for are ignored.
struct BodyReader {
    let value: JSONValue
    private(set) var faults: [Problem.Fault] = []

    /// - Throws: 415, 400 for what is not JSON, 422 for JSON that is no object.
    init(_ request: HTTPRequest) throws(Problem) {
        try self.init(request.json())
    }

    init(_ value: JSONValue) throws(Problem) {
        guard value.members != nil else {
            throw .unacceptable([Problem.Fault(pointer: "", detail: "must be an object, not \(value.kind)")])
        }
        self.value = value
    }

    /// Notes what is wrong with a member; an empty name means the body as a whole.
    /// - Parameter name: the rest of a JSON pointer; a name that the client chose goes through `JSONPointer.token`.
    mutating func report(_ name: String, _ detail: String) {
        faults.append(Problem.Fault(pointer: name.isEmpty ? "" : "/\(name)", detail: detail))
    }

    /// Throws 422 when anything was wrong.
    func finish() throws(Problem) {
        if !faults.isEmpty { throw .unacceptable(faults) }
    }

    /// The member, `nil` when it is missing or null.
    func member(_ name: String) -> JSONValue? {
        guard let member = value[name], !member.isNull else { return nil }
        return member
    }

    /// Whether the member stands there, even as null.
    func has(_ name: String) -> Bool { value[name] != nil }

    /// An optional text of at most `limit` bytes of UTF-8 without control characters.
    mutating func text(_ name: String, limit: Int) -> String? {
        guard let member = member(name) else { return nil }
        guard let text = member.stringValue else {
            report(name, "must be a string, not \(member.kind)")
            return nil
        }
        guard text.utf8.count <= limit else {
            report(name, "is \(text.utf8.count) bytes long; at most \(limit) are allowed")
            return nil
        }
        guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            report(name, "must not hold control characters")
            return nil
        }
        return text
    }

    /// A text that must be there and not empty.
    mutating func requiredText(_ name: String, limit: Int) -> String? {
        guard member(name) != nil else {
            report(name, "is missing")
            return nil
        }
        guard let text = text(name, limit: limit) else { return nil }
        if text.isEmpty { report(name, "must not be empty") }
        return text
    }

    /// A boolean that must be there.
    mutating func requiredFlag(_ name: String) -> Bool? {
        guard let flag = member(name)?.boolValue else {
            report(name, member(name).map { "must be true or false, not \($0.kind)" } ?? "is missing")
            return nil
        }
        return flag
    }

    /// One of the raw values of an enumeration.
    mutating func choice<Choice: CaseIterable & RawRepresentable<String>>(_ name: String, _ type: Choice.Type)
        -> Choice?
    {
        guard let member = member(name) else { return nil }
        guard let choice = member.stringValue.flatMap(Choice.init) else {
            report(name, "must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
            return nil
        }
        return choice
    }

    /// A moment in RFC 3339 with an offset.
    mutating func moment(_ name: String) -> Timestamp? {
        guard let member = member(name) else { return nil }
        guard let moment = member.stringValue.flatMap(Timestamp.init(rfc3339:)) else {
            report(name, "must be an RFC 3339 time with an offset, such as 2026-12-01T09:30:00Z")
            return nil
        }
        return moment
    }
}

extension Problem {
    /// 422: the request is well-formed but says something that cannot be done.
    static func unacceptable(_ faults: [Fault], slug: String = "invalid-request") -> Problem {
        Problem(
            status: 422,
            slug: slug,
            title: "Unprocessable request",
            detail: faults.first.map { $0.pointer.isEmpty ? "The body \($0.detail)." : "\($0.pointer) \($0.detail)." },
            faults: faults
        )
    }
}
