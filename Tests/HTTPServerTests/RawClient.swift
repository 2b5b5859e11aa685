import Glibc
import Kernel

/// A TCP client that sends exactly the bytes it is told, on a thread of its own, because it blocks.
final class RawClient: Sendable {
    struct Response {
        var status = 0
        var headers: [(name: String, value: String)] = []
        var body = ""

        func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
    }

    struct Failure: Error {
        let text: String
    }

    private let thread = SerialThread(name: "raw-client")
    private let descriptor: Int32

    init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        // A server that never answers must fail the test, not hang it.
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let result = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failure(text: "connect: \(errno)") }
    }

    deinit {
        close(descriptor)
        thread.stop()
    }

    /// Sends bytes; a connection the server broke off is no failure here.
    func send(_ text: String) async throws {
        let descriptor = self.descriptor
        try await thread.run {
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                let sent = rest.withUnsafeBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                if sent <= 0 { return }
                rest = rest.dropFirst(sent)
            }
        }
    }

    /// Tells the server that nothing more will come.
    func finishSending() async throws {
        let descriptor = self.descriptor
        try await thread.run { _ = shutdown(descriptor, Int32(SHUT_WR)) }
    }

    /// The head of a response whose body is left unread.
    func receiveHead() async throws -> Response { try await receive(hasBody: false) }

    /// One whole response; `hasBody` is false for HEAD.
    func receive(hasBody: Bool = true) async throws -> Response {
        let descriptor = self.descriptor
        return try await thread.run {
            var head: [UInt8] = []
            while !head.ends(with: "\r\n\r\n".utf8) { head.append(try Self.read(descriptor, 1)[0]) }
            var lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
            var response = Response()
            response.status = Int(lines.removeFirst().split(separator: " ")[1]) ?? 0
            for line in lines {
                let parts = line.split(separator: ":", maxSplits: 1)
                let value = parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""
                response.headers.append((parts[0].lowercased(), value))
            }
            var length = hasBody ? Int(response.header("content-length") ?? "0") ?? 0 : 0
            var body: [UInt8] = []
            while length > 0 {
                let part = try Self.read(descriptor, length)
                body += part
                length -= part.count
            }
            response.body = String(decoding: body, as: UTF8.self)
            return response
        }
    }

    /// Reads on until the server closes the connection, and tells whether it did.
    func isClosed() async throws -> Bool {
        let descriptor = self.descriptor
        return try await thread.run {
            var buffer = [UInt8](repeating: 0, count: 4096)
            errno = 0
            while recv(descriptor, &buffer, buffer.count, 0) > 0 {}
            return errno != EAGAIN
        }
    }

    private static func read(_ descriptor: Int32, _ limit: Int) throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: limit)
        let count = recv(descriptor, &buffer, limit, 0)
        guard count > 0 else { throw Failure(text: count == 0 ? "closed" : "recv: \(errno)") }
        return Array(buffer[..<count])
    }
}

extension [UInt8] {
    func ends(with suffix: String.UTF8View) -> Bool {
        suffix.count <= count && self[(count - suffix.count)...].elementsEqual(suffix)
    }
}
