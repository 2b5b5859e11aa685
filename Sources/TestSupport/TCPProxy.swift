import Foundation
import Glibc
import Synchronization

/// Passes connections on to a server of 127.0.0.1, until a test cuts the line: an outage of one server for one process.
package final class TCPProxy: Sendable {
    private struct State {
        var isCut = false
        var isClosed = false
        var open: Set<Int32> = []
    }

    /// Where to connect to.
    package let port: Int
    private let target: Int
    private let listener: Int32
    private let state = Mutex(State())

    /// Listens at once.
    /// - Parameter target: the server's port.
    package init(to target: Int) throws {
        self.target = target
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Self.loopback(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, size) == 0 && getsockname(listener, address, &size) == 0
            }
        }
        guard bound, listen(listener, 128) == 0 else { throw TestServerError("a proxy cannot listen") }
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread { [self] in acceptAll() }
    }

    /// Breaks every connection, and every later one as soon as it is made.
    package func cut() {
        let open = state.withLock { state in
            state.isCut = true
            return state.open
        }
        for descriptor in open { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }

    /// Lets connections through again.
    package func mend() {
        state.withLock { $0.isCut = false }
    }

    /// Ends the proxy.
    package func close() {
        state.withLock { $0.isClosed = true }
        cut()
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func acceptAll() {
        while true {
            let client = accept(listener, nil, nil)
            if state.withLock({ $0.isClosed }) || client < 0 {
                if client >= 0 { Glibc.close(client) }
                break
            }
            guard !state.withLock({ $0.isCut }), let server = connectToTarget() else {
                Glibc.close(client)
                continue
            }
            var on: Int32 = 1
            for descriptor in [client, server] {
                setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
            }
            let isCut = state.withLock { state in
                state.open.formUnion([client, server])
                return state.isCut
            }
            if isCut { for descriptor in [client, server] { shutdown(descriptor, Int32(SHUT_RDWR)) } }
            // The descriptors are closed by whoever of the two ends last.
            let pair = Pair(first: client, second: server)
            Thread.detachNewThread { [self] in pump(client, to: server, pair) }
            Thread.detachNewThread { [self] in pump(server, to: client, pair) }
        }
        Glibc.close(listener)
    }

    private final class Pair: Sendable {
        let first: Int32
        let second: Int32
        private let left = Atomic<Int>(2)

        init(first: Int32, second: Int32) {
            self.first = first
            self.second = second
        }

        /// Whether this was the second of both directions.
        func ended() -> Bool { left.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 }
    }

    private func pump(_ from: Int32, to: Int32, _ pair: Pair) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        copying: while true {
            let count = recv(from, &buffer, buffer.count, 0)
            if count <= 0 { break }
            var sent = 0
            while sent < count {
                let written = buffer[sent..<count].withUnsafeBytes {
                    send(to, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                if written <= 0 { break copying }
                sent += written
            }
        }
        for descriptor in [from, to] { shutdown(descriptor, Int32(SHUT_RDWR)) }
        guard pair.ended() else { return }
        state.withLock { $0.open.subtract([pair.first, pair.second]) }
        Glibc.close(pair.first)
        Glibc.close(pair.second)
    }

    private func connectToTarget() -> Int32? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Self.loopback(target)
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        if isConnected { return descriptor }
        Glibc.close(descriptor)
        return nil
    }

    private static func loopback(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return address
    }
}
