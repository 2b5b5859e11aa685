import COpenSSL

/// Why a key could not be read, made or used. Never carries key material.
package struct SigningError: Error, Equatable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// The text is no key, or no key of the expected kind.
        case invalidKey
        /// The key exists but is too weak or of a curve that is not allowed.
        case refusedKey
        /// The bytes are no certificate, or none of the expected kind.
        case invalidCertificate
        /// Two verification keys carry the same key id.
        case duplicateKeyID
        /// OpenSSL refused an operation that should work.
        case operationFailed
    }

    package let code: Code
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { "signing.\(code.rawValue): \(message)" }

    /// An error with the oldest entry of this thread's OpenSSL error queue, which is emptied, so that the next user of
    /// OpenSSL on the thread does not find it.
    static func openSSL(_ code: Code, _ action: String) -> SigningError {
        let number = ERR_get_error()
        defer { ERR_clear_error() }
        guard number != 0, let reason = ERR_reason_error_string(number) else {
            return SigningError(code, "\(action) failed")
        }
        return SigningError(code, "\(action) failed: \(String(cString: reason))")
    }
}
