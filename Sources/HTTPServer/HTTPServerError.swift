/// Why a server could not start.
package struct HTTPServerError: Error, Sendable, CustomStringConvertible {
    /// What failed, for programs.
    package enum Code: String, Sendable {
        /// The listen address cannot be read or resolved.
        case address
        /// The address cannot be bound: in use, or not allowed.
        case bind
        /// The HTTP library refused to start.
        case start
    }

    package let code: Code
    package let message: String

    package var description: String { "http.\(code.rawValue): \(message)" }
}
