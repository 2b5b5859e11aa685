import COpenSSL

/// SHA-256 in one call.
package enum SHA256 {
    /// The 32 bytes of the digest.
    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        var length: UInt32 = 0
        let result = EVP_Digest(bytes, bytes.count, &digest, &length, EVP_sha256(), nil)
        precondition(result == 1 && length == 32, "OpenSSL has no SHA-256")
        return digest
    }

    /// The 32 bytes of the digest of the text's UTF-8.
    package static func hash(_ text: String) -> [UInt8] {
        hash(Array(text.utf8))
    }
}

/// HMAC (RFC 2104) in one call.
package enum HMAC {
    /// The 32 bytes of HMAC-SHA-256. The key is limited to 2 GiB by OpenSSL's interface.
    package static func sha256(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        var length: UInt32 = 0
        let result = COpenSSL.HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &digest, &length)
        precondition(result != nil && length == 32, "OpenSSL has no HMAC-SHA-256")
        return digest
    }
}
