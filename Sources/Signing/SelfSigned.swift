import COpenSSL
package import Kernel

/// Makes certificates for servers on 127.0.0.1: the simulator's and those of tests.
package enum SelfSigned {
    /// A certificate for the hosts with a new P-256 key.
    ///
    /// It is no CA: a client that trusts it trusts this one server. It begins one hour before `now`, so that a client whose
    /// clock runs a little behind accepts it.
    /// - Parameters:
    ///   - hosts: DNS names and IPv4 or IPv6 addresses; at least one. The first one becomes the subject's common name.
    ///   - validFor: counted from `now`.
    package static func make(
        hosts: [String],
        validFor: Duration,
        now: Timestamp
    ) throws(SigningError) -> (certificatePEM: String, keyPEM: String) {
        guard let first = hosts.first, hosts.allSatisfy(isHost) else {
            throw SigningError(
                .invalidKey,
                "a certificate needs hosts made of letters, digits, dots, dashes and colons"
            )
        }
        let key = try EVPKey.generate(.p256)
        guard let certificate = X509_new() else { throw .openSSL(.operationFailed, "making a certificate") }
        defer { X509_free(certificate) }
        let begin = (now - .seconds(3600)).seconds
        let end = (now + validFor).seconds
        let names = hosts.map { isAddress($0) ? "IP:\($0)" : "DNS:\($0)" }.joined(separator: ",")
        let built = key.withPointer { pointer in
            X509_set_version(certificate, 2) == 1
                && setSerial(certificate)
                && ASN1_TIME_set(X509_getm_notBefore(certificate), Int(begin)) != nil
                && ASN1_TIME_set(X509_getm_notAfter(certificate), Int(end)) != nil
                && setName(certificate, first)
                && X509_set_pubkey(certificate, pointer) == 1
                && add(certificate, NID_basic_constraints, "critical,CA:FALSE")
                && add(certificate, NID_key_usage, "critical,digitalSignature")
                && add(certificate, NID_ext_key_usage, "serverAuth")
                && add(certificate, NID_subject_key_identifier, "hash")
                && add(certificate, NID_subject_alt_name, names)
                && X509_sign(certificate, pointer, EVP_sha256()) > 0
        }
        guard built else { throw .openSSL(.operationFailed, "making a certificate") }
        let pem = try MemoryBIO.text("writing the certificate") { bio in PEM_write_bio_X509(bio, certificate) }
        return (pem, try key.privatePEM())
    }

    private static func isHost(_ text: String) -> Bool {
        (1...253).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: ":"):
                    true
                default: false
                }
            }
    }

    private static func isAddress(_ host: String) -> Bool {
        guard let address = a2i_IPADDRESS(host) else {
            ERR_clear_error()
            return false
        }
        ASN1_OCTET_STRING_free(address)
        return true
    }

    private static func setSerial(_ certificate: OpaquePointer) -> Bool {
        // 63 random bits: positive, and unlikely to repeat for the same subject.
        let serial = SecureRandom.bytes(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } >> 1
        return ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), max(serial, 1)) == 1
    }

    private static func setName(_ certificate: OpaquePointer, _ host: String) -> Bool {
        let name = X509_get_subject_name(certificate)
        // A common name has at most 64 characters; the alternative names are what clients compare.
        let bytes = Array(host.utf8.prefix(64))
        return X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_UTF8, bytes, Int32(bytes.count), -1, 0) == 1
            && X509_set_issuer_name(certificate, name) == 1
    }

    private static func add(_ certificate: OpaquePointer, _ identifier: Int32, _ value: String) -> Bool {
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, certificate, certificate, nil, nil, 0)
        guard let made = X509V3_EXT_conf_nid(nil, &context, identifier, value) else { return false }
        defer { X509_EXTENSION_free(made) }
        return X509_add_ext(certificate, made, -1) == 1
    }
}
