import COpenSSL
package import Kernel

/// Makes chains of three as the App Store's look: for tests, benchmarks and trying a webhook on one's own machine. Who trusts the
/// root of one trusts nobody but whoever holds its signer's key.
package struct ChainMaker: Sendable {
    /// The root in DER, to be configured.
    package let root: [UInt8]
    /// What `x5c` holds: signer, intermediate and root in standard base64.
    package let x5c: [String]
    /// The signer's.
    package let key: SigningKey

    /// - Parameters:
    ///   - validFor: counted from `now`; the certificates begin a day earlier.
    package init(
        rules: ChainRules = .appStore,
        marksLeaf: Bool = true,
        validFor: Duration = .seconds(30 * 86_400),
        now: Timestamp
    ) throws(SigningError) {
        let begin = (now - .seconds(86_400)).seconds
        let end = (now + validFor).seconds
        let rootKey = try EVPKey.generate(.p256)
        let intermediateKey = try EVPKey.generate(.p256)
        let leafKey = try EVPKey.generate(.p256)
        let root = try Self.certificate(
            "Example Root",
            rootKey,
            issuer: nil,
            signer: rootKey,
            isAuthority: true,
            mark: nil,
            begin,
            end
        )
        let intermediate = try Self.certificate(
            "Example Intermediate",
            intermediateKey,
            issuer: root,
            signer: rootKey,
            isAuthority: true,
            mark: rules.intermediateExtension,
            begin,
            end
        )
        let leaf = try Self.certificate(
            "Example Signer",
            leafKey,
            issuer: intermediate,
            signer: intermediateKey,
            isAuthority: false,
            mark: marksLeaf ? rules.leafExtension : nil,
            begin,
            end
        )
        self.root = root.der
        x5c = [leaf, intermediate, root].map { Base64.encode($0.der) }
        key = try SigningKey(pem: try leafKey.privatePEM())
    }

    /// Signs claims as the App Store does.
    package func sign(_ payload: JSONValue) throws(SigningError) -> String {
        let header: JSONValue = ["alg": "ES256", "x5c": .array(x5c.map(JSONValue.string))]
        let input = Base64URL.encode(header.utf8) + "." + Base64URL.encode(payload.utf8)
        return input + "." + Base64URL.encode(try key.sign(Array(input.utf8)))
    }

    private static func certificate(
        _ name: String,
        _ key: EVPKey,
        issuer: X509Certificate?,
        signer: EVPKey,
        isAuthority: Bool,
        mark: String?,
        _ begin: Int64,
        _ end: Int64
    ) throws(SigningError) -> X509Certificate {
        guard let certificate = X509_new() else { throw .openSSL(.operationFailed, "making a certificate") }
        defer { X509_free(certificate) }
        let subject = X509_get_subject_name(certificate)
        let common = Array(name.utf8)
        let serial = SecureRandom.bytes(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } >> 1
        let parent = issuer?.pointer ?? certificate
        let built =
            X509_set_version(certificate, 2) == 1
            && ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), max(serial, 1)) == 1
            && ASN1_TIME_set(X509_getm_notBefore(certificate), Int(begin)) != nil
            && ASN1_TIME_set(X509_getm_notAfter(certificate), Int(end)) != nil
            && X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_UTF8, common, Int32(common.count), -1, 0)
                == 1
            && X509_set_issuer_name(certificate, X509_get_subject_name(parent)) == 1
            && key.withPointer { X509_set_pubkey(certificate, $0) } == 1
            && add(certificate, parent, NID_basic_constraints, isAuthority ? "critical,CA:TRUE" : "critical,CA:FALSE")
            && add(
                certificate,
                parent,
                NID_key_usage,
                isAuthority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature"
            )
            && add(certificate, parent, NID_subject_key_identifier, "hash")
            && (issuer == nil || add(certificate, parent, NID_authority_key_identifier, "keyid:always"))
            && (mark.map { addMark(certificate, $0) } ?? true)
            && signer.withPointer { X509_sign(certificate, $0, EVP_sha256()) } > 0
        guard built else { throw .openSSL(.operationFailed, "making a certificate") }
        return try X509Certificate(der: try X509Certificate.encoded(certificate))
    }

    private static func add(
        _ certificate: OpaquePointer,
        _ issuer: OpaquePointer,
        _ identifier: Int32,
        _ value: String
    ) -> Bool {
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, issuer, certificate, nil, nil, 0)
        guard let made = X509V3_EXT_conf_nid(nil, &context, identifier, value) else { return false }
        defer { X509_EXTENSION_free(made) }
        return X509_add_ext(certificate, made, -1) == 1
    }

    /// The mark's value is an ASN.1 NULL; only its presence counts.
    private static func addMark(_ certificate: OpaquePointer, _ identifier: String) -> Bool {
        guard let object = OBJ_txt2obj(identifier, 1), let value = ASN1_OCTET_STRING_new() else { return false }
        defer {
            ASN1_OBJECT_free(object)
            ASN1_OCTET_STRING_free(value)
        }
        guard ASN1_OCTET_STRING_set(value, [0x05, 0x00], 2) == 1,
            let made = X509_EXTENSION_create_by_OBJ(nil, object, 0, value)
        else { return false }
        defer { X509_EXTENSION_free(made) }
        return X509_add_ext(certificate, made, -1) == 1
    }
}
