import COpenSSL
package import Kernel

/// A path that was verified, with what later uses of it check again.
package struct VerifiedChain: Sendable {
    package let leaf: X509Certificate
    package let intermediate: X509Certificate
    /// The configured root at its end.
    package let root: X509Certificate
    /// The signer's.
    package let key: VerificationKey
    /// All three certificates are good from here …
    package let notBefore: Timestamp
    /// … to here.
    package let notAfter: Timestamp

    /// Whether it may be used for something signed at that moment: dates and marks of the roles, each time anew.
    func holds(at moment: Timestamp, rules: ChainRules) -> Bool {
        moment >= notBefore && moment.seconds <= notAfter.seconds && leaf.hasExtension(rules.leafExtension)
            && intermediate.hasExtension(rules.intermediateExtension)
    }
}

/// Verifies chains of exactly three: signer, intermediate, and a root that the operator configured. A root that comes with the
/// token is never trusted.
///
/// The path is OpenSSL's to judge (RFC 5280 with its strict switch, as Apple's Python library asks for it); curves and marks are
/// checked here.
package final class ChainVerifier: @unchecked Sendable {
    // Unchecked, because the store is only read after it was filled, and OpenSSL locks it.
    private let store: OpaquePointer
    private let roots: [X509Certificate]
    package let rules: ChainRules

    /// - Throws: `invalidCertificate` without a root, `refusedKey` for a root whose key is not on P-256 or P-384.
    package init(roots: [X509Certificate], rules: ChainRules) throws(SigningError) {
        guard !roots.isEmpty else { throw SigningError(.invalidCertificate, "no root certificate is configured") }
        for root in roots where root.keyKind == .other {
            throw SigningError(.refusedKey, "a root's key is not on curve P-256 or P-384")
        }
        guard let store = X509_STORE_new() else { throw .openSSL(.operationFailed, "making a certificate store") }
        for root in roots where X509_STORE_add_cert(store, root.pointer) != 1 {
            X509_STORE_free(store)
            throw .openSSL(.operationFailed, "filling the certificate store")
        }
        self.store = store
        self.roots = roots
        self.rules = rules
    }

    deinit {
        X509_STORE_free(store)
    }

    /// The path from the signer to a configured root, valid at the moment.
    func verify(
        leaf: X509Certificate,
        intermediate: X509Certificate,
        at moment: Timestamp
    ) throws(ChainRefusal) -> VerifiedChain {
        // Before any signature: exotic keys make verification slow or reach rarely trodden code.
        guard leaf.keyKind == .p256, intermediate.keyKind != .other else { throw .key }
        guard let root = path(leaf, intermediate, at: moment), leaf.hasExtension(rules.leafExtension),
            intermediate.hasExtension(rules.intermediateExtension)
        else { throw .chain }
        do {
            let certificates = [leaf, intermediate, root]
            var (begin, end) = (try leaf.notBefore(), try leaf.notAfter())
            for certificate in certificates.dropFirst() {
                begin = max(begin, try certificate.notBefore())
                end = min(end, try certificate.notAfter())
            }
            return VerifiedChain(
                leaf: leaf,
                intermediate: intermediate,
                root: root,
                key: try leaf.signerKey(),
                notBefore: begin,
                notAfter: end
            )
        } catch {
            throw .chain
        }
    }

    /// - Returns: the root at the end of a valid path of exactly three, the given two being its first.
    private func path(_ leaf: X509Certificate, _ intermediate: X509Certificate, at moment: Timestamp)
        -> X509Certificate?
    {
        defer { ERR_clear_error() }
        guard let context = X509_STORE_CTX_new() else { return nil }
        defer { X509_STORE_CTX_free(context) }
        guard let others = varsel_x509_stack_new() else { return nil }
        defer { varsel_x509_stack_free_only(others) }
        guard varsel_x509_stack_push(others, intermediate.pointer) > 0,
            X509_STORE_CTX_init(context, store, leaf.pointer, others) == 1,
            let parameters = X509_STORE_CTX_get0_param(context)
        else { return nil }
        X509_VERIFY_PARAM_set_time(parameters, Int(moment.seconds))
        guard X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_X509_STRICT)) == 1,
            X509_verify_cert(context) == 1, let chain = X509_STORE_CTX_get0_chain(context),
            varsel_x509_stack_count(chain) == 3,
            let second = varsel_x509_stack_at(chain, 1), X509_cmp(second, intermediate.pointer) == 0,
            let last = varsel_x509_stack_at(chain, 2)
        else { return nil }
        return roots.first { X509_cmp($0.pointer, last) == 0 }
    }
}
