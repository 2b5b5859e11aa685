/// The target of a request line, taken apart and decoded once.
struct RequestTarget: Sendable, Equatable {
    /// One name and value of the query.
    struct QueryItem: Sendable, Equatable {
        let name: String
        let value: String
    }

    /// Decoded segments between the slashes; `/` alone is one empty segment.
    let segments: [String]
    let query: [QueryItem]

    /// Reads an origin-form target, or the path of an absolute-form one (RFC 9112 section 3.2).
    /// - Returns: `nil` when it is neither, or holds a broken escape, bytes that are no UTF-8 or control characters.
    init?(_ raw: String) {
        // Over bytes: a walk over characters costs several times as much, in every request.
        let text = raw.utf8.first == UInt8(ascii: "/") ? raw : Self.originForm(raw)
        guard let text, text.utf8.first == UInt8(ascii: "/") else { return nil }
        let rest = text.utf8
        let pathEnd = rest.firstIndex(of: UInt8(ascii: "?")) ?? rest.endIndex
        let path = rest[..<pathEnd].dropFirst()
        var segments: [String] = []
        for part in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let segment = PercentEncoding.decode(Substring(part)) else { return nil }
            segments.append(segment)
        }
        var query: [QueryItem] = []
        for part in rest[pathEnd...].dropFirst().split(separator: UInt8(ascii: "&")) {
            let nameEnd = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
            guard let name = PercentEncoding.decode(Substring(part[..<nameEnd]), plusIsSpace: true),
                let value = PercentEncoding.decode(Substring(part[nameEnd...].dropFirst()), plusIsSpace: true)
            else { return nil }
            query.append(QueryItem(name: name, value: value))
        }
        self.segments = segments
        self.query = query
    }

    /// The path and query of an absolute-form target, `nil` for any other.
    private static func originForm(_ raw: String) -> String? {
        let lower = raw.lowercased()
        guard let scheme = ["http://", "https://"].first(where: lower.hasPrefix) else { return nil }
        let authority = raw.dropFirst(scheme.count)
        guard let end = authority.firstIndex(where: { $0 == "/" || $0 == "?" }) else { return "/" }
        let rest = authority[end...]
        return rest.first == "?" ? "/" + rest : String(rest)
    }

    /// The path with its escapes decoded. For handlers; routing goes by segments, where an escaped slash is no separator.
    var path: String { "/" + segments.joined(separator: "/") }
}
