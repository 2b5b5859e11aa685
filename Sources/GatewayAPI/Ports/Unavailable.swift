/// A server behind the gateway does not answer; the client is asked to come back (503 with Retry-After).
package struct Unavailable: Error, CustomStringConvertible {
    /// Which one, such as `postgresql`.
    package let dependency: String
    /// What happened, for the log.
    package let reason: String

    package init(dependency: String, reason: String) {
        self.dependency = dependency
        self.reason = reason
    }

    package var description: String { "\(dependency) is not available: \(reason)" }
}
