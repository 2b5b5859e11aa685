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
        fields.append(Field(name: name.lowercased(), value: value))
    }

    /// The value of the first field of that name.
    package subscript(name: String) -> String? {
        get {
            let wanted = name.lowercased()
            return fields.first { $0.name == wanted }?.value
        }
        set {
            let wanted = name.lowercased()
            fields.removeAll { $0.name == wanted }
            if let newValue { fields.append(Field(name: wanted, value: newValue)) }
        }
    }

    /// The values of every field of that name, in order.
    package func values(_ name: String) -> [String] {
        let wanted = name.lowercased()
        return fields.filter { $0.name == wanted }.map(\.value)
    }

    package func contains(_ name: String) -> Bool { self[name] != nil }
}
