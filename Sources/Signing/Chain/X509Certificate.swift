import COpenSSL
package import Kernel

/// Owns one X.509 certificate. OpenSSL counts its references atomically and nothing here changes it after it was read, which is
/// why threads may share it.
package final class X509Certificate: @unchecked Sendable {
    /// What its key may be used for in a chain of ours.
    enum KeyKind { case p256, p384, other }

    let pointer: OpaquePointer
    /// The certificate as it was given.
    package let der: [UInt8]

    /// Reads one certificate in DER.
    /// - Throws: `invalidCertificate` also for bytes after its end, where OpenSSL would stop early.
    package init(der: [UInt8]) throws(SigningError) {
        let read = der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            guard var position = buffer.baseAddress else { return nil }
            let end = position + buffer.count
            var next: UnsafePointer<UInt8>? = position
            guard let made = d2i_X509(nil, &next, buffer.count) else { return nil }
            position = next ?? position
            guard position == end else {
                X509_free(made)
                return nil
            }
            return made
        }
        ERR_clear_error()
        guard let read else {
            throw SigningError(.invalidCertificate, "no X.509 certificate in DER, or bytes after it")
        }
        pointer = read
        self.der = der
        // OpenSSL reads extensions when first asked, which must not happen on two threads at once with the same memory.
        X509_check_purpose(read, -1, 0)
        ERR_clear_error()
    }

    deinit {
        X509_free(pointer)
    }

    /// Reads every certificate of a file: PEM with any number of them, or one in DER.
    /// - Throws: `invalidCertificate` for a file without any.
    package static func all(in file: [UInt8]) throws(SigningError) -> [X509Certificate] {
        guard file.count <= 1024 * 1024 else {
            throw SigningError(.invalidCertificate, "a file of certificates above 1 MiB")
        }
        if file.first == 0x30 { return [try X509Certificate(der: file)] }
        ERR_clear_error()
        var found: [X509Certificate] = []
        guard let bio = BIO_new_mem_buf(file, Int32(file.count)) else {
            throw .openSSL(.operationFailed, "reading certificates")
        }
        defer { BIO_free(bio) }
        while let read = PEM_read_bio_X509(bio, nil, refusePassword, nil) {
            defer { X509_free(read) }
            found.append(try X509Certificate(der: try Self.encoded(read)))
        }
        ERR_clear_error()
        guard !found.isEmpty else { throw SigningError(.invalidCertificate, "the file holds no certificate") }
        return found
    }

    static func encoded(_ certificate: OpaquePointer) throws(SigningError) -> [UInt8] {
        let size = i2d_X509(certificate, nil)
        guard size > 0 else { throw .openSSL(.operationFailed, "writing a certificate") }
        var bytes = [UInt8](repeating: 0, count: Int(size))
        bytes.withUnsafeMutableBufferPointer { buffer in
            var start = buffer.baseAddress
            _ = i2d_X509(certificate, &start)
        }
        return bytes
    }

    /// The first moment at which it is good.
    package func notBefore() throws(SigningError) -> Timestamp { try Self.time(X509_get0_notBefore(pointer)) }

    /// The last moment at which it is good, to the second.
    package func notAfter() throws(SigningError) -> Timestamp { try Self.time(X509_get0_notAfter(pointer)) }

    /// Whether it carries an extension with this dotted object identifier, whatever its value.
    package func hasExtension(_ identifier: String) -> Bool {
        guard let object = OBJ_txt2obj(identifier, 1) else {
            ERR_clear_error()
            return false
        }
        defer { ASN1_OBJECT_free(object) }
        return X509_get_ext_by_OBJ(pointer, object, -1) >= 0
    }

    /// The curve of its key.
    var keyKind: KeyKind {
        defer { ERR_clear_error() }
        guard let key = X509_get0_pubkey(pointer), EVP_PKEY_get_base_id(key) == EVP_PKEY_EC else { return .other }
        var name = [CChar](repeating: 0, count: 64)
        var length = 0
        guard EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1 else { return .other }
        switch String(decoding: name.prefix(length).map(UInt8.init(bitPattern:)), as: UTF8.self) {
        case "prime256v1": return .p256
        case "secp384r1": return .p384
        default: return .other
        }
    }

    /// The P-256 key of a signer.
    func signerKey() throws(SigningError) -> VerificationKey {
        guard keyKind == .p256, let key = X509_get0_pubkey(pointer), EVP_PKEY_up_ref(key) == 1 else {
            throw SigningError(.refusedKey, "the signer's key is not on curve P-256")
        }
        return VerificationKey(material: .pair(try EVPKey(owning: key)), algorithm: .es256, keyID: nil)
    }

    private static func time(_ value: UnsafePointer<ASN1_TIME>?) throws(SigningError) -> Timestamp {
        var days: Int32 = 0
        var seconds: Int32 = 0
        guard let epoch = ASN1_TIME_set(nil, 0) else { throw .openSSL(.operationFailed, "reading a date") }
        defer { ASN1_STRING_free(epoch) }
        guard let value, ASN1_TIME_diff(&days, &seconds, epoch, value) == 1 else {
            throw .openSSL(.invalidCertificate, "reading a certificate's dates")
        }
        return Timestamp(milliseconds: (Int64(days) * 86_400 + Int64(seconds)) * 1000)
    }
}
