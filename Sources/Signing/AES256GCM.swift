import COpenSSL

/// Authenticated encryption (NIST SP 800-38D) with a fresh random nonce for each message.
package enum AES256GCM {
    private static let nonceSize = 12
    private static let tagSize = 16

    /// Nonce, ciphertext and tag in one piece.
    /// - Parameters:
    ///   - key: 32 bytes.
    ///   - additional: is not in the result, but `open` needs the same.
    package static func seal(_ plain: [UInt8], key: [UInt8], additional: [UInt8]) throws(SigningError) -> [UInt8] {
        let nonce = SecureRandom.bytes(nonceSize)
        let context = try context(key)
        defer { EVP_CIPHER_CTX_free(context) }
        var output = [UInt8](repeating: 0, count: plain.count + tagSize)
        var tag = [UInt8](repeating: 0, count: tagSize)
        var length: Int32 = 0
        var rest: Int32 = 0
        guard EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), nil, key, nonce) == 1,
            EVP_EncryptUpdate(context, nil, &length, additional, Int32(additional.count)) == 1,
            EVP_EncryptUpdate(context, &output, &length, plain, Int32(plain.count)) == 1,
            EVP_EncryptFinal_ex(context, &tag, &rest) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tagSize), &tag) == 1
        else { throw .openSSL(.operationFailed, "encrypting") }
        return nonce + output.prefix(Int(length)) + tag
    }

    /// The plain text of what `seal` made.
    /// - Throws: `operationFailed` for any other bytes, key or additional data.
    package static func open(_ sealed: [UInt8], key: [UInt8], additional: [UInt8]) throws(SigningError) -> [UInt8] {
        guard sealed.count >= nonceSize + tagSize else { throw SigningError(.operationFailed, "too short to decrypt") }
        let nonce = Array(sealed.prefix(nonceSize))
        let body = Array(sealed[nonceSize..<sealed.count - tagSize])
        var tag = Array(sealed.suffix(tagSize))
        let context = try context(key)
        defer { EVP_CIPHER_CTX_free(context) }
        var output = [UInt8](repeating: 0, count: body.count + tagSize)
        var length: Int32 = 0
        var rest: Int32 = 0
        var end = [UInt8](repeating: 0, count: tagSize)
        guard EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), nil, key, nonce) == 1,
            EVP_DecryptUpdate(context, nil, &length, additional, Int32(additional.count)) == 1,
            EVP_DecryptUpdate(context, &output, &length, body, Int32(body.count)) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tagSize), &tag) == 1,
            EVP_DecryptFinal_ex(context, &end, &rest) == 1
        else {
            ERR_clear_error()
            throw SigningError(.operationFailed, "decrypting failed: another key, or the bytes were changed")
        }
        return Array(output.prefix(Int(length)))
    }

    private static func context(_ key: [UInt8]) throws(SigningError) -> OpaquePointer {
        guard key.count == 32 else { throw SigningError(.refusedKey, "AES-256 takes a key of 32 bytes") }
        guard let context = EVP_CIPHER_CTX_new() else { throw .openSSL(.operationFailed, "encrypting") }
        return context
    }
}
