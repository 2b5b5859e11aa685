import Foundation

/// A value of a push as plain Swift: what Apple hands over as `[AnyHashable: Any]` and what JSON holds are the same in it.
public enum PayloadValue: Sendable, Equatable {
    case text(String)
    case number(Double)
    case flag(Bool)
    case object([String: PayloadValue])
    /// An array, null, or anything else that no push of ours carries where it is read.
    case other

    /// The text, `nil` for other kinds.
    public var text: String? {
        if case .text(let text) = self { text } else { nil }
    }

    /// The members, `nil` for other kinds.
    public var members: [String: PayloadValue]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// A whole number within `Int`'s range, `nil` for anything else.
    public var integer: Int? {
        if case .number(let number) = self { Int(exactly: number) } else { nil }
    }

    /// Reads a `userInfo` dictionary of Apple's frameworks.
    public init(userInfo: [AnyHashable: Any]) {
        var members: [String: PayloadValue] = [:]
        for (key, value) in userInfo {
            if let name = key as? String { members[name] = PayloadValue(any: value) }
        }
        self = .object(members)
    }

    private init(any value: Any) {
        switch value {
        case let text as String: self = .text(text)
        case let members as [AnyHashable: Any]: self.init(userInfo: members)
        case let number as Int: self = .number(Double(number))
        case let number as Double: self = .number(number)
        case let flag as Bool: self = .flag(flag)
        default: self = .other
        }
    }
}

extension PayloadValue: Decodable {
    /// Reads any JSON value.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let flag = try? container.decode(Bool.self) {
            self = .flag(flag)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else if let members = try? container.decode([String: PayloadValue].self) {
            self = .object(members)
        } else {
            self = .other
        }
    }
}
