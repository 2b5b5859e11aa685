/// The request methods the server knows (RFC 9110 section 9, RFC 5789); any other is answered 501.
package enum HTTPMethod: String, Sendable, Hashable, CaseIterable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"
    case options = "OPTIONS"
    /// Known, so that it is refused as the standard says (405); no route has it, because it would echo credentials.
    case trace = "TRACE"
}
