extension ConfigReader {
    /// A URL that must be set.
    /// - Parameters:
    ///   - name: the variable.
    ///   - meaning: what it holds, shown as the way to mend it.
    ///   - schemes: the schemes allowed, in lower case.
    package func url(_ name: String, _ meaning: String, schemes: [String]) -> String {
        read(name, meaning, stand: "") { text throws(Invalid) in try checkURL(text, schemes) }
    }

    package func optionalURL(_ name: String, schemes: [String]) -> String? {
        let fix = "Set a URL that begins with \(schemes.map { $0 + "://" }.joined(separator: " or "))."
        return read(name, default: nil, fix: fix) { text throws(Invalid) in try checkURL(text, schemes) }
    }

    /// The path of a file that must be set, exist and be readable by this process.
    package func file(_ name: String, _ meaning: String) -> String {
        read(name, meaning, stand: "") { text throws(Invalid) in
            try FileContents.check(text)
            return text
        }
    }

    /// As `file`, for a path that may be left out.
    package func optionalFile(_ name: String) -> String? {
        read(name, default: nil, fix: "Name a file that this user may read.") { text throws(Invalid) in
            try FileContents.check(text)
            return text
        }
    }

    /// Where a server listens: `host:port`, `[ipv6]:port` or `:port` for every address. Port 0 takes any free one.
    package func listenAddress(_ name: String, default value: ListenAddress) -> ListenAddress {
        let fix = "Set host:port with a port from 0 to 65535, such as 127.0.0.1:8080 or [::1]:8080."
        return read(name, default: value, fix: fix) { text throws(Invalid) in
            guard let address = ListenAddress(text) else { throw Invalid("\(quoted(text)) is no listen address") }
            return address
        }
    }

    private func checkURL(_ text: String, _ schemes: [String]) throws(Invalid) -> String {
        let shown = quoted(withoutPassword(text))
        guard let mark = text.firstRange(of: "://") else { throw Invalid("\(shown) is no URL") }
        let scheme = text[..<mark.lowerBound].lowercased()
        guard schemes.contains(scheme) else { throw Invalid("\(shown) has a scheme that is not allowed") }
        guard mark.upperBound < text.endIndex else { throw Invalid("\(shown) names no host") }
        if text.contains(where: \.isWhitespace) { throw Invalid("\(shown) holds white space") }
        return text
    }
}

/// Where a server listens.
package struct ListenAddress: Sendable, Equatable, CustomStringConvertible {
    /// A host name or an address, without brackets.
    package let host: String
    /// 0 lets the kernel choose.
    package let port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Parses `host:port`, `[ipv6]:port` or `:port`, the last one meaning every IPv4 address.
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let digits = text[text.index(after: colon)...]
        guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }), let port = Int(digits), port <= 65_535
        else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("[") {
            guard host.hasSuffix("]"), host.count > 2 else { return nil }
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        if host.contains(where: \.isWhitespace) { return nil }
        self.init(host: host.isEmpty ? "0.0.0.0" : String(host), port: port)
    }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
