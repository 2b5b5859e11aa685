import COpenSSL
import Glibc

/// TLS over one non-blocking socket, which it owns. It belongs to one thread.
final class TLSChannel {
    /// How far an operation came.
    enum Progress: Equatable {
        /// This many bytes; for the handshake, 0: it is done.
        case done(Int)
        case wantsRead
        case wantsWrite
        /// The peer ended the connection in order.
        case closed
        /// It is broken.
        case failed(String)
    }

    let descriptor: Int32
    private let ssl: OpaquePointer
    private var broken = false

    /// A server's end. The channel owns the descriptor from here on, also when this throws.
    init(accepting descriptor: Int32, context: TLSContext) throws(HTTP2Error) {
        self.descriptor = descriptor
        ssl = try Self.make(context, descriptor)
        SSL_set_accept_state(ssl)
    }

    /// A client's end that will accept only a certificate for `host`, a DNS name or an IP address.
    init(connecting descriptor: Int32, context: TLSContext, host: String) throws(HTTP2Error) {
        self.descriptor = descriptor
        ssl = try Self.make(context, descriptor)
        SSL_set_connect_state(ssl)
        // An address is verified as such and never named in SNI (RFC 6066, 3).
        if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) != 1 {
            ERR_clear_error()
            SSL_set_hostflags(ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
            guard SSL_set1_host(ssl, host) == 1, varsel_ssl_set_server_name(ssl, host) == 1 else {
                throw .tls("setting the host name \(host)")
            }
        }
    }

    private static func make(_ context: TLSContext, _ descriptor: Int32) throws(HTTP2Error) -> OpaquePointer {
        ERR_clear_error()
        guard let ssl = SSL_new(context.pointer) else {
            close(descriptor)
            throw .tls("making a TLS connection")
        }
        guard SSL_set_fd(ssl, descriptor) == 1 else {
            SSL_free(ssl)
            close(descriptor)
            throw .tls("setting the socket")
        }
        return ssl
    }

    deinit {
        SSL_free(ssl)
        close(descriptor)
    }

    /// Takes the handshake as far as it goes without blocking.
    func handshake() -> Progress {
        ERR_clear_error()
        let result = SSL_do_handshake(ssl)
        if result == 1 { return .done(0) }
        let progress = progress(of: result)
        guard case .failed(let reason) = progress else {
            return progress == .closed ? .failed("the peer closed the connection") : progress
        }
        let verified = SSL_get_verify_result(ssl)
        guard verified != Int(X509_V_OK) else { return .failed(reason) }
        return .failed("\(reason) (\(String(cString: X509_verify_cert_error_string(verified))))")
    }

    /// Whether the peers agreed on HTTP/2.
    var negotiatedHTTP2: Bool {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(ssl, &name, &length)
        return length == 2 && name?[0] == UInt8(ascii: "h") && name?[1] == UInt8(ascii: "2")
    }

    /// The common name of the certificate that the peer showed and that was verified; `nil` where it showed none.
    var peerName: String? {
        guard let certificate = SSL_get1_peer_certificate(ssl) else { return nil }
        defer { X509_free(certificate) }
        var buffer = [CChar](repeating: 0, count: 256)
        let subject = X509_get_subject_name(certificate)
        let length = X509_NAME_get_text_by_NID(subject, NID_commonName, &buffer, Int32(buffer.count))
        ERR_clear_error()
        return String(decoding: buffer.prefix(max(Int(length), 0)).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Reads at most one record.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Progress {
        ERR_clear_error()
        let result = SSL_read(ssl, buffer.baseAddress, Int32(buffer.count))
        return result > 0 ? .done(Int(result)) : progress(of: result)
    }

    /// Writes at most one record. After `wantsRead` or `wantsWrite` the next call begins with the same bytes.
    func write(_ bytes: UnsafeRawBufferPointer) -> Progress {
        ERR_clear_error()
        let result = SSL_write(ssl, bytes.baseAddress, Int32(bytes.count))
        return result > 0 ? .done(Int(result)) : progress(of: result)
    }

    /// Tells the peer that nothing more will come, without waiting for its answer.
    func shutdown() {
        guard !broken else { return }
        ERR_clear_error()
        _ = SSL_shutdown(ssl)
        Glibc.shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Makes the socket's closing a TCP reset, as when a process dies.
    func resetOnClose() {
        broken = true
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    private func progress(of result: Int32) -> Progress {
        let number = errno
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ: return .wantsRead
        case SSL_ERROR_WANT_WRITE: return .wantsWrite
        case SSL_ERROR_ZERO_RETURN: return .closed
        case SSL_ERROR_SYSCALL:
            broken = true
            return number == 0 ? .closed : .failed(systemMessage(number))
        default:
            broken = true
            return .failed(openSSLMessage())
        }
    }
}
