/// What is wrong with one field of a notification, and how to mend it.
package struct FieldProblem: Error, Equatable, Sendable, CustomStringConvertible {
    /// The JSON pointer of the field, such as `/body`.
    package let pointer: String
    /// A short code for events and metrics, such as `invalid_body`.
    package let reason: String
    /// What is wrong and what would be right.
    package let message: String

    package init(pointer: String, reason: String, message: String) {
        self.pointer = pointer
        self.reason = reason
        self.message = message
    }

    package var description: String { "\(pointer): \(message)" }
}
