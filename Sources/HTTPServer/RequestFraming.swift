/// How a request's end is found (RFC 9112 section 6). Whatever two servers could read differently is refused, because that
/// is how a second request is smuggled past a proxy.
struct RequestFraming: Sendable {
    /// The declared length, 0 when there is none.
    let length: Int
    let hasBody: Bool
    /// The client waits for `100 Continue` before it sends the body.
    let expectsContinue: Bool
    /// Why the framing cannot be trusted.
    let fault: Problem?

    init(_ headers: HTTPHeaders) {
        let lengths = headers.values("content-length")
        let codings = headers.values("transfer-encoding")
        var fault: Problem?
        if lengths.count > 1 {
            fault = .badFraming("More than one Content-Length.")
        } else if !codings.isEmpty && !lengths.isEmpty {
            fault = .badFraming("Both Content-Length and Transfer-Encoding.")
        } else if !codings.isEmpty && codings.map({ $0.lowercased() }) != ["chunked"] {
            fault = .badFraming("The only acceptable Transfer-Encoding is chunked.")
        } else if headers.values("host").count > 1 {
            fault = .badFraming("More than one Host.")
        }
        var length = 0
        if let text = lengths.first {
            if text.utf8.allSatisfy({ (48...57).contains($0) }), let value = Int(text) {
                length = value
            } else if fault == nil {
                fault = .badFraming("Content-Length is not a whole number.")
            }
        }
        self.length = length
        self.fault = fault
        hasBody = length > 0 || !codings.isEmpty || fault != nil
        expectsContinue = headers.contains("expect")
    }
}

extension Problem {
    static func headTooLarge(limit: Int) -> Problem {
        Problem(
            status: 431,
            slug: "header-fields-too-large",
            title: "Header fields too large",
            detail: "Request line and header fields may have \(limit) bytes together."
        )
    }
}
