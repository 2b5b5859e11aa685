/// Where a Redis server is, and as whom and in which database to use it.
///
/// `redis://[user[:password]@]host[:port][/db]` or `unix:///path/to/socket[?db=n][&user=u][&password=p]`. User and password are percent-encoded.
package struct RedisURL: Sendable, Equatable, CustomStringConvertible {
    /// The two ways to reach a server.
    package enum Address: Sendable, Equatable {
        case tcp(host: String, port: Int)
        case unix(path: String)
    }

    package let address: Address
    package let user: String?
    package let password: String?
    package let database: Int

    package init(address: Address, user: String? = nil, password: String? = nil, database: Int = 0) {
        self.address = address
        self.user = user
        self.password = password
        self.database = database
    }

    /// Reads a URL.
    /// - Throws: `invalidURL`; the message never holds the password. `rediss://` is refused, because hiredis here has no TLS.
    package init(parsing text: String) throws(RedisError) {
        guard let separator = text.firstRange(of: "://") else {
            throw RedisError(.invalidURL, "a Redis URL begins with redis:// or unix://")
        }
        let rest = text[separator.upperBound...]
        switch text[..<separator.lowerBound] {
        case "redis": self = try Self.tcp(rest)
        case "unix": self = try Self.unix(rest)
        case "rediss":
            throw RedisError(
                .invalidURL,
                "rediss:// is not supported: run stunnel beside the process and use redis:// to it, or a unix socket"
            )
        default: throw RedisError(.invalidURL, "a Redis URL begins with redis:// or unix://")
        }
    }

    /// The address without the credentials, for logs.
    package var description: String {
        switch address {
        case .tcp(let host, let port):
            "redis://\(host.contains(":") ? "[\(host)]" : host):\(port)/\(database)"
        case .unix(let path): "unix://\(path)?db=\(database)"
        }
    }

    private static func tcp(_ text: Substring) throws(RedisError) -> RedisURL {
        guard !text.contains("?"), !text.contains("#") else {
            throw RedisError(.invalidURL, "a redis:// URL takes no query")
        }
        let slash = text.firstIndex(of: "/")
        let authority = text[..<(slash ?? text.endIndex)]
        let path = slash.map { text[text.index(after: $0)...] } ?? ""
        var user: String?
        var password: String?
        var hostAndPort = authority
        if let at = authority.lastIndex(of: "@") {
            hostAndPort = authority[authority.index(after: at)...]
            let credentials = authority[..<at]
            if let colon = credentials.firstIndex(of: ":") {
                user = try decoded(credentials[..<colon])
                password = try decoded(credentials[credentials.index(after: colon)...])
            } else {
                user = try decoded(credentials)
            }
        }
        let (host, port) = try hostPort(hostAndPort)
        return RedisURL(
            address: .tcp(host: host, port: port),
            user: user.flatMap { $0.isEmpty ? nil : $0 },
            password: password.flatMap { $0.isEmpty ? nil : $0 },
            database: try databaseNumber(path)
        )
    }

    private static func hostPort(_ text: Substring) throws(RedisError) -> (String, Int) {
        var host = text
        var port: Substring = "6379"
        if text.hasPrefix("[") {
            guard let close = text.firstIndex(of: "]") else { throw RedisError(.invalidURL, "a bracket is open") }
            host = text[text.index(after: text.startIndex)..<close]
            let after = text[text.index(after: close)...]
            if after.hasPrefix(":") { port = after.dropFirst() }
        } else if let colon = text.lastIndex(of: ":") {
            host = text[..<colon]
            port = text[text.index(after: colon)...]
        }
        guard !host.isEmpty else { throw RedisError(.invalidURL, "the host is missing") }
        guard let number = Int(port), (1...65_535).contains(number) else {
            throw RedisError(.invalidURL, "the port is not a number from 1 to 65535")
        }
        return (String(host), number)
    }

    private static func unix(_ text: Substring) throws(RedisError) -> RedisURL {
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = try decoded(parts[0])
        // The kernel keeps 108 bytes for the path with its closing zero.
        guard path.hasPrefix("/"), path.utf8.count <= 107 else {
            throw RedisError(.invalidURL, "a unix:// URL needs an absolute path of at most 107 bytes")
        }
        var options: [String: String] = [:]
        for pair in parts.count > 1 ? parts[1].split(separator: "&") : [] {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2, ["db", "user", "password"].contains(halves[0]) else {
                throw RedisError(.invalidURL, "a unix:// URL takes db, user and password only")
            }
            options[String(halves[0])] = try decoded(halves[1])
        }
        return RedisURL(
            address: .unix(path: path),
            user: options["user"],
            password: options["password"],
            database: try databaseNumber(options["db"].map { $0[...] } ?? "")
        )
    }

    private static func databaseNumber(_ text: Substring) throws(RedisError) -> Int {
        if text.isEmpty { return 0 }
        guard let number = Int(text), (0...9999).contains(number) else {
            throw RedisError(.invalidURL, "the database is not a number from 0 to 9999")
        }
        return number
    }

    private static func decoded(_ text: Substring) throws(RedisError) -> String {
        var bytes: [UInt8] = []
        var input = text.utf8[...]
        while let byte = input.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard input.count >= 2, let value = UInt8(String(decoding: input.prefix(2), as: UTF8.self), radix: 16)
            else {
                throw RedisError(.invalidURL, "a percent sign is not followed by two hexadecimal digits")
            }
            bytes.append(value)
            input = input.dropFirst(2)
        }
        guard let decoded = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
            throw RedisError(.invalidURL, "a percent-encoded part is not UTF-8")
        }
        return decoded
    }
}
