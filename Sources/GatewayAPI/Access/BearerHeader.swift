import HTTPServer

/// What stands in the `Authorization` header (RFC 6750 section 2.1). Tokens in the query or body are never looked at.
enum BearerHeader: Equatable {
    case absent
    case token(String)
    /// Another scheme, or not one token after one space.
    case unusable

    /// - Throws: 400 for more than one `Authorization` header, because which one counts is anybody's guess.
    init(_ headers: HTTPHeaders) throws(Problem) {
        let values = headers.values("authorization")
        guard values.count <= 1 else { throw .twoCredentials }
        guard let value = values.first else {
            self = .absent
            return
        }
        let parts = value.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].lowercased() == "bearer", !parts[1].isEmpty else {
            self = .unusable
            return
        }
        self = .token(String(parts[1]))
    }
}
