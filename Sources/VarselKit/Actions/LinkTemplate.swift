/// A deep link with places for values of a push: `im://home?impulseId={id}`.
public struct LinkTemplate: Sendable, Equatable, ExpressibleByStringLiteral {
    private enum Part: Sendable, Equatable {
        case text(String)
        case place(String)
    }

    private let parts: [Part]
    /// The template as written.
    public let source: String

    /// Reads a template; a brace without its other half is plain text.
    public init(_ source: String) {
        self.source = source
        var parts: [Part] = []
        var rest = Substring(source)
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            if open > rest.startIndex { parts.append(.text(String(rest[..<open]))) }
            parts.append(.place(String(rest[rest.index(after: open)..<close])))
            rest = rest[rest.index(after: close)...]
        }
        if !rest.isEmpty { parts.append(.text(String(rest))) }
        self.parts = parts
    }

    /// A template as a literal.
    public init(stringLiteral source: String) {
        self.init(source)
    }

    /// The names of its places.
    public var places: Set<String> {
        Set(parts.compactMap { if case .place(let name) = $0 { name } else { nil } })
    }

    /// The link with every place filled, each value percent-encoded so that it cannot reach beyond its place.
    /// - Returns: `nil` when a value is missing or empty.
    public func link(_ values: [String: String]) -> String? {
        var link = ""
        for part in parts {
            switch part {
            case .text(let text): link += text
            case .place(let name):
                guard let value = values[name], !value.isEmpty else { return nil }
                link += Self.escaped(value)
            }
        }
        return link
    }

    /// RFC 3986: everything but unreserved characters becomes `%XX`.
    static func escaped(_ value: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in value.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default:
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
