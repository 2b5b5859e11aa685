import COpenSSL

/// An OCSP question about one certificate (RFC 6960), and the judgement of the answer.
package struct RevocationQuestion: Sendable {
    /// Where it is sent: the certificate's own word. Whether that host may be asked is the caller's to decide.
    package let url: String
    /// The request in DER.
    package let request: [UInt8]
    private let subject: X509Certificate
    private let issuer: X509Certificate

    /// - Returns: `nil` for a certificate that names no responder.
    package init?(about subject: X509Certificate, issuedBy issuer: X509Certificate) {
        defer { ERR_clear_error() }
        let places = X509_get1_ocsp(subject.pointer)
        defer { X509_email_free(places) }
        guard varsel_string_stack_count(places) > 0, let place = varsel_string_stack_at(places, 0),
            let identifier = OCSP_cert_to_id(EVP_sha256(), subject.pointer, issuer.pointer),
            let made = OCSP_REQUEST_new()
        else { return nil }
        defer { OCSP_REQUEST_free(made) }
        guard OCSP_request_add0_id(made, identifier) != nil else {
            OCSP_CERTID_free(identifier)
            return nil
        }
        let size = i2d_OCSP_REQUEST(made, nil)
        guard size > 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(size))
        bytes.withUnsafeMutableBufferPointer { buffer in
            var start = buffer.baseAddress
            _ = i2d_OCSP_REQUEST(made, &start)
        }
        url = String(cString: place)
        request = bytes
        self.subject = subject
        self.issuer = issuer
    }

    /// Whether the answer says that the certificate is good: signed by the issuer or whom it charged with answering, about this
    /// certificate, and not stale. A minute of difference between clocks is allowed.
    package func isGood(_ answer: [UInt8]) -> Bool {
        defer { ERR_clear_error() }
        let read = answer.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var start = buffer.baseAddress
            return d2i_OCSP_RESPONSE(nil, &start, buffer.count)
        }
        guard let read else { return false }
        defer { OCSP_RESPONSE_free(read) }
        guard OCSP_response_status(read) == OCSP_RESPONSE_STATUS_SUCCESSFUL,
            let basic = OCSP_response_get1_basic(read)
        else { return false }
        defer { OCSP_BASICRESP_free(basic) }
        guard isSigned(basic), let identifier = OCSP_cert_to_id(EVP_sha256(), subject.pointer, issuer.pointer) else {
            return false
        }
        defer { OCSP_CERTID_free(identifier) }
        var status: Int32 = -1
        var begin: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var end: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        guard OCSP_resp_find_status(basic, identifier, &status, nil, nil, &begin, &end) == 1,
            status == V_OCSP_CERTSTATUS_GOOD
        else { return false }
        return OCSP_check_validity(begin, end, 60, -1) == 1
    }

    /// The issuer alone is trusted here; a responder of its choosing needs the mark for it, which OpenSSL looks for.
    private func isSigned(_ basic: OpaquePointer) -> Bool {
        guard let store = X509_STORE_new() else { return false }
        defer { X509_STORE_free(store) }
        guard let certificates = varsel_x509_stack_new() else { return false }
        defer { varsel_x509_stack_free_only(certificates) }
        return X509_STORE_add_cert(store, issuer.pointer) == 1
            && X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN)) == 1
            && varsel_x509_stack_push(certificates, issuer.pointer) > 0
            && OCSP_basic_verify(basic, certificates, store, 0) == 1
    }
}
