import Kernel

/// All texts the server sends, by key and language. English is complete; every other language falls back to it key by key.
package struct Catalog: Sendable {
    /// Why the shipped texts cannot be used.
    package struct LoadError: Error, CustomStringConvertible {
        package let file: String
        package let message: String

        package var description: String { "texts of \(file): \(message)" }
    }

    /// The name that `{appName}` stands for.
    package let appName: String
    private let texts: [ServerLocale: [String: String]]

    package init(texts: [ServerLocale: [String: String]], appName: String) {
        self.texts = texts
        self.appName = appName
    }

    /// The catalog that ships with Varsel.
    /// - Parameter more: further text files, of the same form.
    /// - Throws: `LoadError` when a text file is not valid, which a test rules out for those that ship.
    package static func standard(
        appName: String,
        adding more: [(name: String, text: String)] = []
    ) throws(LoadError) -> Catalog {
        var texts: [ServerLocale: [String: String]] = [:]
        for file in EmbeddedText.texts.map({ (name: $0.name, text: $0.text) }) + more {
            let value: JSONValue
            do {
                value = try JSONValue(parsing: file.text)
            } catch {
                throw LoadError(file: file.name, message: error.description)
            }
            for language in value.members ?? [] {
                guard let locale = ServerLocale(rawValue: language.name) else {
                    throw LoadError(file: file.name, message: "unknown language \(language.name)")
                }
                for entry in language.value.members ?? [] {
                    texts[locale, default: [:]][entry.name] = entry.value.stringValue
                }
            }
        }
        return Catalog(texts: texts, appName: appName)
    }

    /// Whether the key has a text, at least in English.
    package func contains(_ key: String) -> Bool { texts[.english]?[key] != nil }

    /// All keys that have an English text.
    package var keys: [String] { (texts[.english] ?? [:]).keys.sorted() }

    /// The text of a key as it stands in one language, without fallback.
    package func exact(_ key: String, _ locale: ServerLocale) -> String? { texts[locale]?[key] }

    /// The text of a key that needs no variables. An unknown key reads as itself, so that a mistake is seen.
    package func t(_ key: String, _ locale: ServerLocale) -> String {
        tVar(key, locale, [:])
    }

    /// The text of a key with its placeholders filled in.
    package func tVar(_ key: String, _ locale: ServerLocale, _ variables: [String: String]) -> String {
        guard let template = texts[locale]?[key] ?? texts[.english]?[key] else { return key }
        return Self.fill(template) { name in
            name == Placeholder.appName.rawValue ? appName : variables[name]
        }
    }

    /// Why a producer may not use this key with these variables, or `nil` when it may.
    package func problem(key: String, variables: [String: String]) -> String? {
        guard let template = texts[.english]?[key] else {
            return "unknown catalog key \"\(key.prefix(64))\""
        }
        let needed = Set(Self.placeholders(of: template)).subtracting([Placeholder.appName.rawValue])
        let given = Set(variables.keys)
        if let missing = needed.subtracting(given).sorted().first { return "the variable \"\(missing)\" is missing" }
        if let extra = given.subtracting(needed).sorted().first {
            return "the variable \"\(extra.prefix(64))\" does not belong to \"\(key)\""
        }
        return nil
    }

    /// The names in braces of a template, in order.
    package static func placeholders(of template: String) -> [String] {
        var names: [String] = []
        _ = fill(template) { name in
            names.append(name)
            return ""
        }
        return names
    }

    private static func fill(_ template: String, value: (String) -> String?) -> String {
        var output = ""
        var rest = template[...]
        while let open = rest.firstIndex(of: "{") {
            output += rest[..<open]
            guard let close = rest[open...].firstIndex(of: "}") else {
                output += rest[open...]
                return output
            }
            let name = String(rest[rest.index(after: open)..<close])
            output += value(name) ?? "{\(name)}"
            rest = rest[rest.index(after: close)...]
        }
        return output + rest
    }
}
