import Glibc
import Kernel
import Synchronization

/// An address to connect to or to listen on.
struct SocketAddress: Sendable, Hashable {
    let family: Int32
    private let bytes: [UInt8]

    init(family: Int32, pointer: UnsafePointer<sockaddr>, length: socklen_t) {
        self.family = family
        bytes = Array(UnsafeRawBufferPointer(start: pointer, count: Int(length)))
    }

    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) { $0.copyBytes(from: bytes.prefix($0.count)) }
        return withUnsafePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(bytes.count)) }
        }
    }
}

/// Looks names up, afresh every time, as Apple asks of those who connect to APNs.
enum AddressResolver {
    /// The addresses of a host in random order, so that connections spread over them.
    ///
    /// `getaddrinfo` cannot be interrupted and may take longer than anybody wants to wait, so it runs on a thread of its own,
    /// which is left to itself when the deadline passes first. Addresses of families that this host lacks are kept: connecting
    /// to them fails at once, while a filter would also hide the loopback of a host without network.
    static func resolve(host: String, port: Int, deadline: MonotonicTime) throws(HTTP2Error) -> [SocketAddress] {
        if let numeric = try? lookUp(host: host, port: port, flags: AI_NUMERICHOST).get() { return numeric }
        let answer = Answer(wakeup: try Wakeup())
        let thread = SerialThread(name: "resolve", capacity: 1)
        thread.post {
            blockSignals()
            answer.give(lookUp(host: host, port: port, flags: 0))
        }
        guard waitUntilReady(answer.wakeup.descriptor, Int16(POLLIN), deadline: deadline), let result = answer.result
        else { throw HTTP2Error(.connectFailed, "looking up \(host) took too long") }
        return try result.get().shuffled()
    }

    private final class Answer: Sendable {
        let wakeup: Wakeup
        private let stored = Mutex<Result<[SocketAddress], HTTP2Error>?>(nil)

        init(wakeup: Wakeup) {
            self.wakeup = wakeup
        }

        var result: Result<[SocketAddress], HTTP2Error>? { stored.withLock { $0 } }

        func give(_ result: Result<[SocketAddress], HTTP2Error>) {
            stored.withLock { $0 = result }
            wakeup.signal()
        }
    }

    /// The addresses in the order of the system.
    static func lookUp(host: String, port: Int, flags: Int32) -> Result<[SocketAddress], HTTP2Error> {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = flags | AI_NUMERICSERV
        var first: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &first)
        guard status == 0 else {
            return .failure(HTTP2Error(.connectFailed, "looking up \(host): \(String(cString: gai_strerror(status)))"))
        }
        defer { freeaddrinfo(first) }
        var addresses: [SocketAddress] = []
        var next = first
        while let entry = next?.pointee {
            if let address = entry.ai_addr {
                addresses.append(
                    SocketAddress(family: entry.ai_family, pointer: address, length: entry.ai_addrlen)
                )
            }
            next = entry.ai_next
        }
        return .success(addresses)
    }
}
