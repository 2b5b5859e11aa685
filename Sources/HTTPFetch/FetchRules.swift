/// What is checked before a request reaches libcurl.
enum FetchRules {
    /// - Throws: `invalidRequest` or `schemeNotAllowed`.
    static func check(_ request: FetchRequest, _ options: FetchOptions) throws(FetchError) {
        // libcurl would cut the URL at a NUL and put a line break of a header on the wire.
        guard request.url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw FetchError(.invalidRequest, "a URL is made of printable ASCII without blanks")
        }
        for header in request.headers {
            guard !header.name.isEmpty, header.name.utf8.allSatisfy(isTokenByte),
                header.value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
            else {
                throw FetchError(.invalidRequest, "the header \(header.name.prefix(40)) holds what no header may")
            }
        }
        guard let url = FetchURL(request.url) else {
            throw FetchError(.invalidRequest, "not an absolute http or https URL")
        }
        if url.isPlain {
            switch options.plainHTTP {
            case .anywhere: break
            case .loopback where url.isLoopback: break
            case .loopback, .nowhere:
                throw FetchError(.schemeNotAllowed, "plain HTTP to \(url.host) is not allowed")
            }
        }
    }

    /// The characters of a header's name (RFC 9110, 5.6.2).
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}

/// The parts of a URL that decide whether it may be asked. libcurl reads the URL again, strictly, for the transfer.
package struct FetchURL: Sendable, Equatable {
    package let isPlain: Bool
    /// In lower case, without brackets.
    package let host: String
    /// As written, `nil` for the scheme's own.
    package let port: Int?

    /// - Returns: `nil` for anything but an absolute `http` or `https` URL with a host and without credentials.
    package init?(_ text: String) {
        guard let mark = text.firstRange(of: "://") else { return nil }
        switch text[..<mark.lowerBound].lowercased() {
        case "https": isPlain = false
        case "http": isPlain = true
        default: return nil
        }
        let authority = text[mark.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard !authority.contains("@"), !authority.contains("\\") else { return nil }
        var name = authority
        var number: Substring?
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            name = authority[authority.index(after: authority.startIndex)..<end]
            let rest = authority[authority.index(after: end)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
            if !rest.isEmpty { number = rest.dropFirst() }
        } else if let colon = authority.firstIndex(of: ":") {
            name = authority[..<colon]
            number = authority[authority.index(after: colon)...]
        }
        guard !name.isEmpty else { return nil }
        host = name.lowercased()
        if let number {
            guard let value = Int(number), (1...65_535).contains(value) else { return nil }
            port = value
        } else {
            port = nil
        }
    }

    /// Whether the host is the loopback, as it is written; no name is looked up but `localhost`, which is a promise.
    package var isLoopback: Bool {
        if host == "localhost" || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        return parts.count == 4 && parts.allSatisfy { $0 != nil } && parts[0] == 127
    }
}
