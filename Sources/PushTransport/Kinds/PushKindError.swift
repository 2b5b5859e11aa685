/// Why a push of a certain kind cannot be made. Nothing was sent.
package struct PushKindError: Error, Equatable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// A member that Apple demands is missing.
        case missing
        /// A member has a value that Apple refuses or the device ignores.
        case invalid
        /// The body is longer than its kind allows.
        case tooLarge
    }

    package let code: Code
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { "push.\(code.rawValue): \(message)" }

    /// Checks a body's size as it is sent.
    static func checkSize(_ body: [UInt8], _ type: PushType) throws(PushKindError) {
        guard body.count <= type.payloadLimit else {
            throw PushKindError(
                .tooLarge,
                "a \(type.rawValue) push of \(body.count) bytes; \(type.payloadLimit) are allowed"
            )
        }
    }

    /// Checks the app's own members, which stand beside `aps`.
    static func checkNames(_ data: [String]) throws(PushKindError) {
        guard !data.contains("aps") else { throw PushKindError(.invalid, "the app's own data may not be named aps") }
        guard Set(data).count == data.count else { throw PushKindError(.invalid, "a name stands twice in the data") }
    }
}
