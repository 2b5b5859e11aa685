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
        // Over bytes, because a walk over a long token's characters shows in every request's cost.
        let space = UInt8(ascii: " ")
        let parts = value.utf8.split(separator: space, maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, String(Substring(parts[0])).lowercased() == "bearer", !parts[1].isEmpty,
            !parts[1].contains(space)
        else {
            self = .unusable
            return
        }
        self = .token(String(Substring(parts[1])))
    }
}
