import Glibc

/// A listening socket, closed with the value.
final class TCPListener {
    let descriptor: Int32
    let port: Int

    /// - Parameter port: 0 for any free one.
    init(host: String, port: Int) throws(HTTP2Error) {
        let addresses = try AddressResolver.lookUp(host: host, port: port, flags: AI_PASSIVE).get()
        guard let address = addresses.first else { throw HTTP2Error(.connectFailed, "\(host) has no address") }
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.family, type, 0)
        self.descriptor = descriptor
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        guard descriptor >= 0, address.withPointer({ bind(descriptor, $0, $1) }) == 0, listen(descriptor, 512) == 0
        else {
            let message = systemMessage(errno)
            if descriptor >= 0 { close(descriptor) }
            throw HTTP2Error(.connectFailed, "listening on \(host):\(port) failed: \(message)")
        }
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        _ = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        // The port stands at the same place for IPv4 and IPv6.
        self.port = withUnsafeBytes(of: storage) { Int($0[2]) << 8 | Int($0[3]) }
    }

    /// Takes the next waiting connection.
    /// - Returns: a non-blocking socket, which the caller closes, or -1 with `errno` set.
    func accept() -> Int32 {
        // accept4 would do it in one call, but the Glibc module lacks it.
        let accepted = Glibc.accept(descriptor, nil, nil)
        guard accepted >= 0 else { return -1 }
        _ = fcntl(accepted, F_SETFL, O_NONBLOCK)
        _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
        return accepted
    }

    deinit {
        close(descriptor)
    }
}
