/// Why a call to Redis did not give a usable answer.
package struct RedisError: Error, CustomStringConvertible {
    /// The kinds of failure a caller may want to tell apart.
    package enum Code: String, Sendable {
        /// The address is not one this client can use.
        case invalidURL
        /// No connection could be made before the call's deadline; the command never left this process.
        case notConnected
        /// The connection broke while the call was outstanding.
        case connectionLost
        /// The call's deadline passed.
        case timeout
        /// Redis answered with an error.
        case server
        /// An answer did not have the expected form.
        case unexpectedReply
        /// As many calls as the client allows are outstanding already.
        case overloaded
        /// The client was closed.
        case closed
        /// The server is not fit to hold the data (see `RedisServerCheck`).
        case unfitServer
    }

    package let code: Code
    /// What happened, in words. Never holds arguments of commands.
    package let message: String
    /// Whether the command may have reached Redis, and so may have been carried out.
    package let wasSent: Bool

    package init(_ code: Code, _ message: String, wasSent: Bool = false) {
        self.code = code
        self.message = message
        self.wasSent = wasSent
    }

    /// The first word of an error that Redis sent, such as `NOSCRIPT` or `WRONGTYPE`.
    package var serverCode: String? {
        code == .server ? message.split(separator: " ").first.map(String.init) : nil
    }

    package var description: String {
        "redis \(code.rawValue): \(message)" + (wasSent && code != .server ? " (the command may have run)" : "")
    }
}
