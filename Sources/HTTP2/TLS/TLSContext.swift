import COpenSSL
import Glibc

/// An `SSL_CTX`: what the connections of a configuration share.
final class TLSContext {
    let pointer: OpaquePointer
    private static let protocols: [UInt8] = [2] + Array("h2".utf8)

    /// A client's context: verifies the peer, offers `h2`.
    init(client configuration: TLSClientConfiguration) throws(HTTP2Error) {
        pointer = try Self.make(TLS_client_method())
        try load(configuration.trust)
        if let identity = configuration.identity { try load(identity) }
        SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
        SSL_CTX_set_alpn_protos(pointer, Self.protocols, UInt32(Self.protocols.count))
    }

    /// A server's context: shows the identity, accepts `h2` alone.
    init(server configuration: TLSServerConfiguration) throws(HTTP2Error) {
        pointer = try Self.make(TLS_server_method())
        try load(configuration.identity)
        if let trust = configuration.clientTrust {
            try load(trust)
            let demand = configuration.clientMayStayUnknown ? 0 : SSL_VERIFY_FAIL_IF_NO_PEER_CERT
            SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER | demand, nil)
        }
        SSL_CTX_set_alpn_select_cb(pointer, selectProtocol, nil)
    }

    deinit {
        SSL_CTX_free(pointer)
    }

    private static func make(_ method: OpaquePointer?) throws(HTTP2Error) -> OpaquePointer {
        ERR_clear_error()
        guard let context = SSL_CTX_new(method) else { throw .tls("making a TLS context") }
        varsel_ssl_ctx_set_min_version(context, TLS1_2_VERSION)
        // A write that would block is repeated later with a longer buffer at another place.
        varsel_ssl_ctx_set_mode(
            context,
            Int(SSL_MODE_ENABLE_PARTIAL_WRITE) | Int(SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER)
        )
        // Without reading ahead OpenSSL makes two system calls for every record.
        varsel_ssl_ctx_set_read_ahead(context, 1)
        SSL_CTX_set_default_read_buffer_len(context, 64 * 1024)
        varsel_ssl_ctx_set_session_cache_mode(context, Int(SSL_SESS_CACHE_OFF))
        let options = UInt64(1) << 30 | UInt64(1) << 7 | UInt64(1) << 17
        // SSL_OP_NO_RENEGOTIATION, SSL_OP_IGNORE_UNEXPECTED_EOF (HTTP/2 frames say themselves where they end) and
        // SSL_OP_NO_COMPRESSION, whose macros the importer cannot read.
        SSL_CTX_set_options(context, options)
        return context
    }

    private func load(_ trust: TLSTrust) throws(HTTP2Error) {
        ERR_clear_error()
        switch trust {
        case .systemStore:
            guard SSL_CTX_set_default_verify_paths(pointer) == 1 else {
                throw .tls("reading the system's certificates")
            }
        case .file(let path):
            guard SSL_CTX_load_verify_file(pointer, path) == 1 else {
                throw .tls("reading certificates from \(path)")
            }
        case .certificates(let pem):
            let certificates = PEMCertificates(pem)
            guard !certificates.pointers.isEmpty else { throw .tls("reading certificates from a PEM text") }
            for certificate in certificates.pointers {
                guard X509_STORE_add_cert(SSL_CTX_get_cert_store(pointer), certificate) == 1 else {
                    throw .tls("adding a certificate")
                }
            }
        }
    }

    private func load(_ identity: TLSIdentity) throws(HTTP2Error) {
        ERR_clear_error()
        let certificates = PEMCertificates(identity.certificatePEM)
        guard let leaf = certificates.pointers.first, SSL_CTX_use_certificate(pointer, leaf) == 1 else {
            throw .tls("reading the certificate")
        }
        for link in certificates.pointers.dropFirst() {
            guard varsel_ssl_ctx_add1_chain_cert(pointer, link) == 1 else { throw .tls("reading the chain") }
        }
        let text = Array(identity.privateKeyPEM.utf8)
        let bio = BIO_new_mem_buf(text, Int32(text.count))
        defer { BIO_free(bio) }
        // The empty pass phrase callback keeps OpenSSL from asking for one on the terminal.
        guard let key = PEM_read_bio_PrivateKey(bio, nil, noPassPhrase, nil) else {
            throw .tls("reading the private key")
        }
        defer { EVP_PKEY_free(key) }
        guard SSL_CTX_use_PrivateKey(pointer, key) == 1, SSL_CTX_check_private_key(pointer) == 1 else {
            throw .tls("matching the private key with the certificate")
        }
    }
}

/// The certificates of a PEM text, freed with the value.
private final class PEMCertificates {
    private(set) var pointers: [OpaquePointer] = []

    init(_ pem: String) {
        let text = Array(pem.utf8)
        guard let bio = BIO_new_mem_buf(text, Int32(text.count)) else { return }
        defer { BIO_free(bio) }
        while let certificate = PEM_read_bio_X509(bio, nil, noPassPhrase, nil) { pointers.append(certificate) }
        // The end of the text leaves an error behind that means nothing.
        if !pointers.isEmpty { ERR_clear_error() }
    }

    deinit {
        for pointer in pointers { X509_free(pointer) }
    }
}

private func noPassPhrase(
    _ buffer: UnsafeMutablePointer<CChar>?,
    _ size: Int32,
    _ writing: Int32,
    _ context: UnsafeMutableRawPointer?
) -> Int32 { -1 }

/// Accepts `h2` and nothing else (RFC 7301, 3.2).
private func selectProtocol(
    _ ssl: OpaquePointer?,
    _ output: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ outputLength: UnsafeMutablePointer<UInt8>?,
    _ offered: UnsafePointer<UInt8>?,
    _ offeredLength: UInt32,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let offered, let output, let outputLength else { return SSL_TLSEXT_ERR_ALERT_FATAL }
    var index = 0
    while index < Int(offeredLength) {
        let length = Int(offered[index])
        guard index + 1 + length <= Int(offeredLength) else { break }
        if length == 2, offered[index + 1] == UInt8(ascii: "h"), offered[index + 2] == UInt8(ascii: "2") {
            output.pointee = offered + index + 1
            outputLength.pointee = 2
            return SSL_TLSEXT_ERR_OK
        }
        index += 1 + length
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL
}

extension HTTP2Error {
    /// A TLS error with what OpenSSL says of it; takes the errors off the thread's queue.
    static func tls(_ doing: String) -> HTTP2Error {
        HTTP2Error(.tlsFailed, "\(doing) failed: \(openSSLMessage())")
    }
}

/// The reasons on the calling thread's error queue.
func openSSLMessage() -> String {
    var reasons: [String] = []
    while reasons.count < 8 {
        let code = ERR_get_error()
        guard code != 0 else { break }
        reasons.append(ERR_reason_error_string(code).map { String(cString: $0) } ?? "error \(code)")
    }
    ERR_clear_error()
    return reasons.isEmpty ? "no reason given" : reasons.joined(separator: ", ")
}
