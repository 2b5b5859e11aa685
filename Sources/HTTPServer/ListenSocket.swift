import CMicrohttpd
import Glibc

/// A bound, listening TCP socket.
struct ListenSocket {
    let descriptor: Int32
    /// The port that was really bound.
    let port: Int

    /// Binds `host:port`, where the host is a name, an IPv4 address, an IPv6 address in brackets, or empty or `*` for every
    /// address; port 0 takes a free one.
    static func bind(_ address: String) throws(HTTPServerError) -> ListenSocket {
        guard let colon = address.lastIndex(of: ":"), let port = UInt16(address[address.index(after: colon)...]) else {
            throw HTTPServerError(code: .address, message: "\(address) is not host:port")
        }
        var host = String(address[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        if host == "*" { host = "" }

        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE
        var list: UnsafeMutablePointer<addrinfo>?
        let result = getaddrinfo(host.isEmpty ? nil : host, String(port), &hints, &list)
        guard result == 0 else {
            throw HTTPServerError(
                code: .address,
                message: "\(address) cannot be resolved: \(String(cString: gai_strerror(result)))"
            )
        }
        defer { freeaddrinfo(list) }
        var failure = "no address"
        var next = list
        while let entry = next?.pointee {
            next = entry.ai_next
            switch open(entry) {
            case .success(let descriptor): return ListenSocket(descriptor: descriptor, port: boundPort(descriptor))
            case .failure(let error): failure = error.message
            }
        }
        throw HTTPServerError(code: .bind, message: "cannot listen on \(address): \(failure)")
    }

    private static func open(_ entry: addrinfo) -> Result<Int32, HTTPServerError> {
        let kind = entry.ai_socktype | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(entry.ai_family, kind, entry.ai_protocol)
        guard descriptor >= 0 else { return .failure(lastError()) }
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        guard Glibc.bind(descriptor, entry.ai_addr, entry.ai_addrlen) == 0, listen(descriptor, 1024) == 0 else {
            let error = lastError()
            close(descriptor)
            return .failure(error)
        }
        return .success(descriptor)
    }

    private static func lastError() -> HTTPServerError {
        HTTPServerError(code: .bind, message: String(cString: strerror(errno)))
    }

    private static func boundPort(_ descriptor: Int32) -> Int {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard getsockname(descriptor, address, &length) == 0 else { return 0 }
                let family = Int32(address.pointee.sa_family)
                return address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { six in
                    // The port stands in the same place of both address forms.
                    family == AF_INET || family == AF_INET6 ? Int(UInt16(bigEndian: six.pointee.sin6_port)) : 0
                }
            }
        }
    }
}
