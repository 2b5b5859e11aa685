/// Why a database call failed. The text never contains bound values.
package struct PostgresError: Error, Sendable, CustomStringConvertible {
    /// What kind of failure it is; decides whether trying again makes sense.
    package enum Code: String, Sendable {
        /// The connection URL cannot be used.
        case configuration
        /// No connection could be made, or it was lost. What was sent may or may not have been done.
        case connection
        /// The server did not answer in time; the connection was thrown away.
        case timeout
        /// The server refused the statement; see `sqlState`.
        case server
        /// A value has another type than asked for, or is NULL.
        case decoding
        /// Every connection is busy and too many callers wait already, or waited too long.
        case poolExhausted
        /// The pool was closed.
        case closed
    }

    package let code: Code
    /// The five characters of the server's error code (PostgreSQL documentation, appendix A), for `server`.
    package let sqlState: String?
    package let message: String
    /// The constraint that was violated, for SQLSTATE class 23.
    package let constraint: String?

    package init(_ code: Code, sqlState: String? = nil, message: String, constraint: String? = nil) {
        self.code = code
        self.sqlState = sqlState
        self.constraint = constraint
        self.message = message
    }

    package var description: String {
        let state = sqlState.map { " (SQLSTATE \($0))" } ?? ""
        return "postgres \(code.rawValue)\(state): \(message)"
    }

    /// Whether the data of one statement is at fault, so that other rows may succeed: SQLSTATE classes 22 and 23, except
    /// 23514 for a missing partition, which is an outage.
    package var isDataFault: Bool {
        guard code == .server, let sqlState else { return false }
        return (sqlState.hasPrefix("22") || sqlState.hasPrefix("23")) && !isMissingPartition
    }

    /// Whether a row fell outside every partition: the code of a violated check, without a constraint's name. The text would
    /// depend on the server's language.
    package var isMissingPartition: Bool { sqlState == "23514" && constraint == nil }

    /// Whether the same statement may succeed at once: a deadlock or a serialization failure.
    package var isTransient: Bool { sqlState == "40P01" || sqlState == "40001" }
}

extension PostgresError {
    /// Whether asking again later may help: no connection, no answer in time, no free connection, or a server that is starting,
    /// stopping, out of something or not writable (SQLSTATE classes 53 and 57, 25006).
    package var isOutage: Bool {
        guard code == .server else { return code != .decoding && code != .configuration }
        guard let sqlState else { return false }
        return sqlState.hasPrefix("53") || sqlState.hasPrefix("57") || sqlState == "25006" || isTransient
    }
}
