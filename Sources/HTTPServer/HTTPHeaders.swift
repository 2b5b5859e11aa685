/// Header fields in the order they came. Names compare without regard to case; repeated fields stay apart, so that a
/// second `Authorization` can be seen and refused.
package struct HTTPHeaders: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    /// One field line; the name is in lower case.
    package struct Field: Sendable, Equatable {
        package let name: String
        package let value: String
    }

    package private(set) var fields: [Field] = []

    package init() {}

    package init(_ pairs: [(String, String)]) {
        for (name, value) in pairs { add(name, value) }
    }

    package init(dictionaryLiteral elements: (String, String)...) {
        self.init(elements)
    }

    /// Adds a field and keeps what is there.
    package mutating func add(_ name: String, _ value: String) {
        fields.append(Field(name: Self.lowercased(name), value: value))
    }

    /// The value of the first field of that name.
    package subscript(name: String) -> String? {
        get {
            let wanted = Self.lowercased(name)
            return fields.first { $0.name == wanted }?.value
        }
        set {
            let wanted = Self.lowercased(name)
            fields.removeAll { $0.name == wanted }
            if let newValue { fields.append(Field(name: wanted, value: newValue)) }
        }
    }

    /// The values of every field of that name, in order.
    package func values(_ name: String) -> [String] {
        let wanted = Self.lowercased(name)
        return fields.filter { $0.name == wanted }.map(\.value)
    }

    package func contains(_ name: String) -> Bool { self[name] != nil }

    /// Field names are ASCII; the general `lowercased()` is several times slower.
    private static func lowercased(_ name: String) -> String {
        guard name.utf8.contains(where: { (65...90).contains($0) }) else { return name }
        return String(decoding: name.utf8.map { (65...90).contains($0) ? $0 | 32 : $0 }, as: UTF8.self)
    }
}
