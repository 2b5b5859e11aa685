import CLibpq
import Glibc

/// Where a database is, as `postgresql://user:password@host:port/database?option=value`.
package struct PostgresURL: Sendable, CustomStringConvertible {
    let connectionString: String

    /// Checks the text with libpq's own parser.
    /// - Throws: `PostgresError` with code `configuration`; the text names what is wrong without the password.
    package init(parsing text: String) throws(PostgresError) {
        guard text.hasPrefix("postgres://") || text.hasPrefix("postgresql://") else {
            throw PostgresError(.configuration, message: "must begin with postgresql://")
        }
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(text, &message) else {
            PQfreemem(message)
            // libpq's own text may quote the URL, password included.
            throw PostgresError(.configuration, message: "is no valid PostgreSQL URL")
        }
        defer { PQconninfoFree(options) }
        // libpq reads the port only when it connects.
        var option = options
        while let keyword = option.pointee.keyword {
            if strcmp(keyword, "port") == 0, let value = option.pointee.val {
                let ports = String(cString: value).split(separator: ",").map { UInt16($0) }
                guard ports.allSatisfy({ ($0 ?? 0) > 0 }) else {
                    throw PostgresError(.configuration, message: "has a port that is no number from 1 to 65535")
                }
            }
            option = option.successor()
        }
        connectionString = text
    }

    /// The URL without its password, and without its parameters, which may hold one too.
    package var description: String {
        guard let start = connectionString.firstRange(of: "://")?.upperBound else { return "postgresql://" }
        let rest = connectionString[start...]
        let at = rest.prefix { $0 != "/" }.lastIndex(of: "@")
        let user = at.map { rest[..<$0].prefix { $0 != ":" } + "@" } ?? ""
        let place = rest[(at.map { connectionString.index(after: $0) } ?? start)...].prefix { $0 != "?" }
        return "\(connectionString[..<start])\(user)\(place)"
    }
}
