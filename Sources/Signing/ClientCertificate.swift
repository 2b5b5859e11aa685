import COpenSSL
package import Kernel

/// A certificate with its private key, as a client shows it, read from a PKCS#12 file (`.p12`) or from PEM.
package struct ClientCertificate: Sendable {
    /// The certificate, then the rest of its chain.
    package let certificatePEM: String
    /// Unencrypted: for memory only.
    package let privateKeyPEM: String
    /// The certificate is not good after this moment.
    package let notAfter: Timestamp
    /// The subject's common name, for logs.
    package let name: String

    /// - Parameters:
    ///   - file: the content of a `.p12` file, or PEM with a certificate and a private key in any order.
    ///   - password: of the file or of its key.
    /// - Throws: `invalidKey` with a text that says what to do: the macOS keychain still exports files whose encryption OpenSSL
    ///   3 refuses.
    package init(file: [UInt8], password: String? = nil) throws(SigningError) {
        guard file.count <= 1024 * 1024 else { throw SigningError(.invalidKey, "a certificate file above 1 MiB") }
        let parts =
            file.first == 0x30
            ? try CertificateParts(pkcs12: file, password: password ?? "")
            : try CertificateParts(pem: file, password: password)
        guard X509_check_private_key(parts.certificate, parts.key) == 1 else {
            throw .openSSL(.invalidKey, "matching the private key with the certificate")
        }
        let (certificate, key, chain) = (parts.certificate, parts.key, parts.chain)
        var text = try MemoryBIO.text("writing the certificate") { PEM_write_bio_X509($0, certificate) }
        for link in chain { text += try MemoryBIO.text("writing the chain") { PEM_write_bio_X509($0, link) } }
        certificatePEM = text
        privateKeyPEM = try MemoryBIO.text("writing the private key") { bio in
            PEM_write_bio_PKCS8PrivateKey(bio, key, nil, nil, 0, nil, nil)
        }
        notAfter = try Self.time(X509_get0_notAfter(certificate))
        name = Self.commonName(certificate)
    }

    /// Whole days until it is not good any more, negative afterwards.
    package func daysLeft(at now: Timestamp) -> Int {
        Int(((notAfter.seconds - now.seconds) / 86_400))
    }

    private static func time(_ value: UnsafePointer<ASN1_TIME>?) throws(SigningError) -> Timestamp {
        var days: Int32 = 0
        var seconds: Int32 = 0
        guard let epoch = ASN1_TIME_set(nil, 0) else { throw .openSSL(.operationFailed, "reading a date") }
        defer { ASN1_STRING_free(epoch) }
        guard let value, ASN1_TIME_diff(&days, &seconds, epoch, value) == 1 else {
            throw .openSSL(.invalidKey, "reading the certificate's end")
        }
        return Timestamp(milliseconds: (Int64(days) * 86_400 + Int64(seconds)) * 1000)
    }

    private static func commonName(_ certificate: OpaquePointer) -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        let name = X509_get_subject_name(certificate)
        let length = X509_NAME_get_text_by_NID(name, NID_commonName, &buffer, Int32(buffer.count))
        guard length > 0 else {
            ERR_clear_error()
            return ""
        }
        return String(decoding: buffer.prefix(Int(length)).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// What a file held, as OpenSSL's objects, freed with the value.
private final class CertificateParts {
    private static let legacyHint = """
        this .p12 uses encryption that OpenSSL 3 refuses, as the macOS keychain writes it: convert it once with \
        "openssl pkcs12 -legacy -in old.p12 -nodes -out both.pem" and name the PEM file, or export it again from that \
        with "openssl pkcs12 -export -in both.pem -out new.p12"
        """

    let certificate: OpaquePointer
    let key: OpaquePointer
    private(set) var chain: [OpaquePointer] = []

    init(pkcs12 file: [UInt8], password: String) throws(SigningError) {
        ERR_clear_error()
        guard let bio = BIO_new_mem_buf(file, Int32(file.count)) else { throw .openSSL(.invalidKey, "reading a .p12") }
        defer { BIO_free(bio) }
        guard let container = d2i_PKCS12_bio(bio, nil) else { throw .openSSL(.invalidKey, "reading a .p12") }
        defer { PKCS12_free(container) }
        var key: OpaquePointer?
        var certificate: OpaquePointer?
        var others: OpaquePointer?
        guard PKCS12_parse(container, password, &key, &certificate, &others) == 1 else {
            throw Self.pkcs12Error()
        }
        defer { varsel_x509_stack_free(others) }
        guard let key, let certificate else {
            EVP_PKEY_free(key)
            X509_free(certificate)
            throw SigningError(.invalidKey, "the .p12 holds no certificate with its private key")
        }
        self.key = key
        self.certificate = certificate
        for index in 0..<max(varsel_x509_stack_count(others), 0) {
            if let link = varsel_x509_stack_at(others, index), X509_up_ref(link) == 1 { chain.append(link) }
        }
    }

    init(pem file: [UInt8], password: String?) throws(SigningError) {
        ERR_clear_error()
        var certificates: [OpaquePointer] = []
        if let bio = BIO_new_mem_buf(file, Int32(file.count)) {
            while let found = PEM_read_bio_X509(bio, nil, refusePassPhrase, nil) { certificates.append(found) }
            BIO_free(bio)
        }
        ERR_clear_error()
        guard let first = certificates.first else {
            throw SigningError(.invalidKey, "the file is neither a .p12 nor PEM with a certificate")
        }
        var key: OpaquePointer?
        if let bio = BIO_new_mem_buf(file, Int32(file.count)) {
            // OpenSSL takes the pass phrase through the callback's context when there is no callback.
            if let password {
                key = password.withCString { text in
                    PEM_read_bio_PrivateKey(bio, nil, nil, UnsafeMutableRawPointer(mutating: text))
                }
            } else {
                key = PEM_read_bio_PrivateKey(bio, nil, refusePassPhrase, nil)
            }
            BIO_free(bio)
        }
        guard let key else {
            for certificate in certificates { X509_free(certificate) }
            throw .openSSL(.invalidKey, "reading the private key beside the certificate (is its password right?)")
        }
        certificate = first
        self.key = key
        chain = Array(certificates.dropFirst())
    }

    deinit {
        X509_free(certificate)
        EVP_PKEY_free(key)
        for link in chain { X509_free(link) }
    }

    /// Tells a wrong password from a cipher that OpenSSL no longer offers.
    private static func pkcs12Error() -> SigningError {
        var isLegacy = false
        var isPassword = false
        while true {
            let code = ERR_get_error()
            guard code != 0 else { break }
            let reason = ERR_reason_error_string(code).map { String(cString: $0) } ?? ""
            if reason.contains("unsupported") || reason.contains("unknown") { isLegacy = true }
            if reason.contains("mac verify failure") { isPassword = true }
        }
        if isPassword, !isLegacy { return SigningError(.invalidKey, "the .p12's password is wrong") }
        return SigningError(.invalidKey, isLegacy ? legacyHint : "the .p12 cannot be read")
    }
}

private func refusePassPhrase(
    _ buffer: UnsafeMutablePointer<CChar>?,
    _ size: Int32,
    _ writing: Int32,
    _ context: UnsafeMutableRawPointer?
) -> Int32 { -1 }
