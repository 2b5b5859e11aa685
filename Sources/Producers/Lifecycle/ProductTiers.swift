import Kernel
package import Notifications

/// What products are called in texts: a JSON object from product id to a name, or to an object of names by language.
package struct ProductTiers: Sendable {
    /// Why a file cannot be used.
    package struct FileError: Error, CustomStringConvertible {
        package let description: String
    }

    private let names: [String: [ServerLocale: String]]
    private static let nameLimit = 64

    package static let none = ProductTiers(names: [:])

    private init(names: [String: [ServerLocale: String]]) {
        self.names = names
    }

    /// Reads a file's bytes. A name by language needs one in English, the fallback.
    package init(file: [UInt8]) throws(FileError) {
        let value: JSONValue
        do {
            value = try JSONValue(parsing: file)
        } catch {
            throw FileError(description: "no acceptable JSON: \(error)")
        }
        guard let members = value.members else { throw FileError(description: "must be an object, not \(value.kind)") }
        var names: [String: [ServerLocale: String]] = [:]
        for member in members {
            if let name = member.value.stringValue {
                names[member.name] = [.english: try Self.checked(name, member.name)]
                continue
            }
            var byLocale: [ServerLocale: String] = [:]
            for entry in member.value.members ?? [] {
                guard let locale = ServerLocale(rawValue: entry.name), let name = entry.value.stringValue else {
                    throw FileError(description: "\(member.name) has no name in a known language at \(entry.name)")
                }
                byLocale[locale] = try Self.checked(name, member.name)
            }
            guard byLocale[.english] != nil else {
                throw FileError(description: "\(member.name) has no name in English")
            }
            names[member.name] = byLocale
        }
        self.names = names
    }

    private static func checked(_ name: String, _ product: String) throws(FileError) -> String {
        guard name.contains(where: { !$0.isWhitespace }), name.utf8.count <= nameLimit,
            name.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
        else { throw FileError(description: "the name of \(product) must be 1 to \(nameLimit) bytes of plain text") }
        return name
    }

    /// The name in a language, `nil` for a product that is not listed.
    package func name(of product: String?, _ locale: ServerLocale) -> OperatorText? {
        guard let product, let byLocale = names[product] else { return nil }
        return (byLocale[locale] ?? byLocale[.english]).map(OperatorText.init(writtenByOperator:))
    }
}
