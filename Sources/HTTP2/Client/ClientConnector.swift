import Glibc
import Kernel

/// Brings a connection to the point where HTTP/2 begins. It blocks, so it runs on the connection's thread.
struct ClientConnector {
    let host: String
    let port: Int
    let tls: TLSClientConfiguration
    let options: HTTP2ClientOptions

    /// Connects and completes TLS.
    func connect(deadline: MonotonicTime) throws(HTTP2Error) -> TLSChannel {
        let context = try TLSContext(client: tls)
        let name = options.lookUpName?(host) ?? host
        let addresses = try AddressResolver.resolve(host: name, port: port, deadline: deadline)
        let descriptor = try TCPConnector.connect(to: addresses, host: host, deadline: deadline)
        let channel = try TLSChannel(connecting: descriptor, context: context, host: tls.serverName ?? host)
        try handshake(channel, deadline: deadline)
        guard channel.negotiatedHTTP2 else {
            throw HTTP2Error(.alpnMissing, "\(host) does not speak HTTP/2 (no ALPN h2)")
        }
        return channel
    }

    private func handshake(_ channel: TLSChannel, deadline: MonotonicTime) throws(HTTP2Error) {
        while true {
            let events: Int32
            switch channel.handshake() {
            case .done: return
            case .wantsRead: events = POLLIN
            case .wantsWrite: events = POLLOUT
            case .closed: throw HTTP2Error(.tlsFailed, "TLS with \(host): the peer closed the connection")
            case .failed(let reason) where reason.contains("no application protocol"):
                throw HTTP2Error(.alpnMissing, "\(host) does not speak HTTP/2: \(reason)")
            case .failed(let reason): throw HTTP2Error(.tlsFailed, "TLS with \(host): \(reason)")
            }
            guard waitUntilReady(channel.descriptor, Int16(events), deadline: deadline) else {
                throw HTTP2Error(.connectFailed, "TLS with \(host) took too long")
            }
        }
    }
}
