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
        var rest = Substring(raw)
        for scheme in ["http://", "https://"] where raw.lowercased().hasPrefix(scheme) {
            let authority = rest.dropFirst(scheme.count)
            rest = authority.firstIndex(where: { $0 == "/" || $0 == "?" }).map { authority[$0...] } ?? "/"
            if rest.first == "?" { rest = "/" + rest }
        }
        guard rest.first == "/" else { return nil }
        let pathEnd = rest.firstIndex(of: "?") ?? rest.endIndex
        var segments: [String] = []
        for part in rest[..<pathEnd].dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            guard let segment = PercentEncoding.decode(part) else { return nil }
            segments.append(segment)
        }
        var query: [QueryItem] = []
        for part in rest[pathEnd...].dropFirst().split(separator: "&") {
            let nameEnd = part.firstIndex(of: "=") ?? part.endIndex
            guard let name = PercentEncoding.decode(part[..<nameEnd], plusIsSpace: true),
                let value = PercentEncoding.decode(part[nameEnd...].dropFirst(), plusIsSpace: true)
            else { return nil }
            query.append(QueryItem(name: name, value: value))
        }
        self.segments = segments
        self.query = query
    }

    /// The path with its escapes decoded. For handlers; routing goes by segments, where an escaped slash is no separator.
    var path: String { "/" + segments.joined(separator: "/") }
}
