import Glibc

/// Reads settings from environment variables, once, at the start of a process.
///
/// Every accessor notes what is wrong and answers a stand-in, so that one run finds all problems; `finish()` then throws
/// them together. A variable that is empty or only white space counts as not set.
package final class ConfigReader {
    private let environment: [String: String]
    private(set) var problems: [ConfigProblem] = []
    /// How many problems earlier parts had when the present part began.
    private var problemsBeforePart = 0
    private(set) var settings: [EffectiveSetting] = []

    package init(environment: [String: String]) {
        self.environment = environment
    }

    /// The names of all variables of the environment.
    var environmentNames: [String] { Array(environment.keys) }

    /// The settings that were read, in the order of reading, with secrets as `***`.
    package var effective: [EffectiveSetting] { settings }

    /// Throws every problem found so far; within a `part`, those of the part.
    package func finish() throws(ConfigError) {
        let own = problems.dropFirst(problemsBeforePart)
        if !own.isEmpty { throw ConfigError(problems: Array(own)) }
    }

    /// Reads a group of settings whose initialiser throws, so that its problems do not hide those of the groups after it.
    ///
    /// Ask for the value after the reader's own `finish()`.
    package func part<Value>(_ read: (ConfigReader) throws -> Value) throws -> Required<Value> {
        let before = problemsBeforePart
        problemsBeforePart = problems.count
        defer { problemsBeforePart = before }
        do {
            return Required(name: "\(Value.self)", stored: try read(self))
        } catch let error as ConfigError {
            let noted = problems.dropFirst(problemsBeforePart)
            problems += error.problems.filter { !noted.contains($0) }
            return Required(name: "\(Value.self)", stored: nil)
        }
    }

    /// Notes a problem that the caller found itself, such as two settings that exclude each other.
    package func report(_ name: String, _ problem: String, fix: String) {
        problems.append(ConfigProblem(name: name, problem: problem, fix: fix))
    }

    // MARK: Text

    /// A text that must be set.
    /// - Parameters:
    ///   - name: the variable.
    ///   - meaning: what it holds, shown as the way to mend it.
    package func string(_ name: String, _ meaning: String) -> String {
        read(name, meaning, stand: "") { $0 }
    }

    package func string(_ name: String, default value: String) -> String {
        read(name, default: value) { $0 }
    }

    package func optionalString(_ name: String) -> String? {
        read(name, default: nil) { $0 }
    }

    /// The parts of a text separated by commas, without white space and empty parts.
    package func list(_ name: String, default value: [String] = []) -> [String] {
        read(name, default: value) { text in
            text.split(separator: ",").map { trimmed($0) }.filter { !$0.isEmpty }
        }
    }

    /// One of the names of an enumeration's cases.
    package func choice<Choice: CaseIterable & RawRepresentable<String>>(
        _ name: String,
        default value: Choice
    ) -> Choice {
        let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        return read(name, default: value, fix: "Use one of: \(names).") { text throws(Invalid) in
            guard let choice = Choice(rawValue: text) else { throw Invalid("\(quoted(text)) is not known") }
            return choice
        }
    }

    // MARK: Numbers, durations, switches

    /// A whole number within a range.
    package func int(_ name: String, default value: Int, in range: ClosedRange<Int>) -> Int {
        let fix = "Set a whole number from \(range.lowerBound) to \(range.upperBound)."
        return read(name, default: value, fix: fix) { text throws(Invalid) in
            guard let number = Int(text) else { throw Invalid("\(quoted(text)) is not a whole number") }
            guard range.contains(number) else { throw Invalid("\(number) is out of range") }
            return number
        }
    }

    package func optionalInt(_ name: String, in range: ClosedRange<Int>) -> Int? {
        let fix = "Set a whole number from \(range.lowerBound) to \(range.upperBound), or leave it out."
        return read(name, default: nil, fix: fix) { text throws(Invalid) in
            guard let number = Int(text) else { throw Invalid("\(quoted(text)) is not a whole number") }
            guard range.contains(number) else { throw Invalid("\(number) is out of range") }
            return number
        }
    }

    /// A duration such as `250ms`, `20s`, `15m`, `24h` or `7d`; a bare number counts seconds.
    package func duration(_ name: String, default value: Duration, in range: ClosedRange<Duration>) -> Duration {
        let limits = "\(DurationText.render(range.lowerBound)) to \(DurationText.render(range.upperBound))"
        let fix = "Set a duration from \(limits), such as 250ms, 20s, 15m, 24h or 7d."
        return read(name, default: value, fix: fix, show: DurationText.render) { text throws(Invalid) in
            guard let duration = DurationText.parse(text) else { throw Invalid("\(quoted(text)) is not a duration") }
            guard range.contains(duration) else { throw Invalid("\(quoted(text)) is out of range") }
            return duration
        }
    }

    /// A switch: `1`, `true`, `yes`, `on` or `0`, `false`, `no`, `off`.
    package func bool(_ name: String, default value: Bool) -> Bool {
        read(name, default: value, fix: "Use 1 or 0 (also true or false, yes or no, on or off).") {
            text throws(Invalid) in
            switch text.lowercased() {
            case "1", "true", "yes", "on": return true
            case "0", "false", "no", "off": return false
            default: throw Invalid("\(quoted(text)) is neither yes nor no")
            }
        }
    }

    // MARK: Values with a parser of their own

    /// A value that must be set and that another module's parser understands, such as a database URL.
    ///
    /// The parser's error text becomes the problem and must not hold secrets.
    /// - Parameter isSecret: hides the value in `effective`; a URL's password is hidden in any case.
    package func required<Value>(
        _ name: String,
        _ meaning: String,
        isSecret: Bool = false,
        parse: (String) throws -> Value
    ) -> Required<Value> {
        let value: Value? = read(name, meaning, stand: nil, isSecret: isSecret) { text throws(Invalid) in
            do { return .some(try parse(text)) } catch { throw Invalid(String(describing: error)) }
        }
        return Required(name: name, stored: value)
    }

    /// As `required`, for a value that may be left out.
    package func optional<Value>(
        _ name: String,
        _ meaning: String,
        isSecret: Bool = false,
        parse: (String) throws -> Value
    ) -> Value? {
        read(name, default: nil, fix: meaning, isSecret: isSecret) { text throws(Invalid) in
            do { return try parse(text) } catch { throw Invalid(String(describing: error)) }
        }
    }
}

/// A required value of a type that has no stand-in: ask for it after `ConfigReader.finish()`.
package struct Required<Value> {
    let name: String
    let stored: Value?

    /// The value; the error is thrown only when `finish()` was not asked first.
    package var value: Value {
        get throws(ConfigError) {
            guard let stored else {
                throw ConfigError(name: name, problem: "missing or wrong", fix: "See the problems listed before.")
            }
            return stored
        }
    }
}

/// One setting as a process sees it.
package struct EffectiveSetting: Sendable, Equatable {
    package let name: String
    /// What an operator may see: a secret is `***`, a value that is not set is empty.
    package let shown: String
    package let isDefault: Bool
}

// MARK: The common way of every accessor

extension ConfigReader {
    /// Why a text is not the value that was wanted.
    struct Invalid: Error {
        let reason: String

        init(_ reason: String) {
            self.reason = reason
        }
    }

    /// A variable's text, `nil` when it is not set or only white space.
    func text(of name: String) -> String? {
        let text = trimmed(environment[name] ?? "")
        return text.isEmpty ? nil : text
    }

    /// A variable's text with the white space around it.
    func rawText(of name: String) -> String? {
        text(of: name) == nil ? nil : environment[name]
    }

    /// Reads a variable that must be set.
    func read<Value>(
        _ name: String,
        _ meaning: String,
        stand: Value,
        isSecret: Bool = false,
        parse: (String) throws(Invalid) -> Value
    ) -> Value {
        guard let text = text(of: name) else {
            note(name, shown: "", isDefault: false)
            report(name, "not set", fix: meaning)
            return stand
        }
        return parsed(name, text, fix: meaning, stand: stand, isSecret: isSecret, parse: parse)
    }

    /// Reads a variable that may be left out.
    func read<Value>(
        _ name: String,
        default value: Value,
        fix: String = "",
        isSecret: Bool = false,
        show: (Value) -> String = { shownDefault($0) },
        parse: (String) throws(Invalid) -> Value
    ) -> Value {
        guard let text = text(of: name) else {
            note(name, shown: isSecret ? "" : show(value), isDefault: true)
            return value
        }
        return parsed(name, text, fix: fix, stand: value, isSecret: isSecret, parse: parse)
    }

    func note(_ name: String, shown: String, isDefault: Bool) {
        settings.append(EffectiveSetting(name: name, shown: shown, isDefault: isDefault))
    }

    private func parsed<Value>(
        _ name: String,
        _ text: String,
        fix: String,
        stand: Value,
        isSecret: Bool,
        parse: (String) throws(Invalid) -> Value
    ) -> Value {
        note(name, shown: isSecret ? "***" : withoutPassword(text), isDefault: false)
        do {
            return try parse(text)
        } catch {
            report(name, error.reason, fix: fix)
            return stand
        }
    }
}

/// How a default is shown; a missing one is empty.
private func shownDefault<Value>(_ value: Value) -> String {
    if let list = value as? [String] { return list.joined(separator: ",") }
    if let optional = value as? any OptionalValue, optional.isMissing { return "" }
    return String(describing: value)
}

private protocol OptionalValue {
    var isMissing: Bool { get }
}

extension Optional: OptionalValue {
    fileprivate var isMissing: Bool { self == nil }
}

/// A text in quotation marks, cut to 60 characters.
func quoted(_ text: String) -> String {
    text.count > 60 ? "\"\(text.prefix(60))…\"" : "\"\(text)\""
}

func trimmed(_ text: some StringProtocol) -> String {
    let space: (Character) -> Bool = { $0.isWhitespace }
    guard let first = text.firstIndex(where: { !space($0) }), let last = text.lastIndex(where: { !space($0) }) else {
        return ""
    }
    return String(text[first...last])
}
