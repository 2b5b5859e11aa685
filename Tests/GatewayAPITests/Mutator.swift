import Glibc
import Kernel

/// A request in parts that can be broken one by one.
struct FuzzRequest: Sendable {
    var method: String
    var target: [UInt8]
    var headers: [(String, [UInt8])]
    var body: [UInt8]

    /// As it stands on the wire.
    var bytes: [UInt8] {
        var bytes = Array("\(method) ".utf8) + target + Array(" HTTP/1.1\r\n".utf8)
        for (name, value) in headers { bytes += Array("\(name): ".utf8) + value + Array("\r\n".utf8) }
        if !body.isEmpty { bytes += Array("Content-Length: \(body.count)\r\n".utf8) }
        return bytes + Array("Connection: close\r\n\r\n".utf8) + body
    }
}

/// Breaks bytes in the ways that parsers have been broken before. The same seed breaks them the same way.
struct Mutator {
    private var state: UInt64

    /// Pieces that mean something to some parser.
    private static let pieces: [[UInt8]] = [
        "{", "}", "[", "]", "\"", "\\", ",", ":", "null", "true", "1e999", "-0", "9223372036854775808", "\\ud800",
        "\\u0000", "\u{FEFF}",
        "/", "//", "..", "%2e", "%00", "%ff", "%", "?", "&", "=", "#", " ", "\t", "\r\n", "\r\n\r\n", "\n", "\0", "+",
        "*", ".", "..", "=",
        "userId", "category", "{\"a\":", "[[[[[[[[", "eyJhbGciOiJub25lIn0", "Bearer ", "vsk_",
        "Transfer-Encoding: chunked\r\n",
        "Content-Length: 0\r\n", "0\r\n\r\n", "HTTP/1.0", "ffffffff", "../../etc/passwd", "' OR 1=1 --", "${x}",
        "\u{202E}", "😀",
    ]
    .map { Array($0.utf8) }

    init(seed: UInt64) {
        state = seed
    }

    private mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }

    private mutating func below(_ limit: Int) -> Int { limit <= 1 ? 0 : Int(next() % UInt64(limit)) }

    /// The request with one to three of its parts broken; one in sixteen stays whole.
    mutating func mutated(_ request: FuzzRequest) -> FuzzRequest {
        var request = request
        guard below(16) > 0 else { return request }
        for _ in 0...below(3) {
            switch below(8) {
            case 0: request.target = mutated(request.target)
            case 1, 2:
                let index = below(request.headers.count)
                request.headers[index].1 = mutated(request.headers[index].1).filter { $0 >= 0x20 && $0 != 0x7F }
            case 3: request.headers.append(request.headers[below(request.headers.count)])
            case 4: request.method = ["GET", "POST", "PATCH", "DELETE", "PUT", "HEAD", "OPTIONS"][below(7)]
            default: request.body = mutated(request.body)
            }
        }
        return request
    }

    /// The bytes, broken in one to four places.
    mutating func mutated(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0...below(4) {
            let place = below(bytes.count + 1)
            switch below(7) {
            case 0 where place < bytes.count: bytes[place] ^= UInt8(1 << below(8))
            case 1 where place < bytes.count: bytes[place] = UInt8(below(256))
            case 2: bytes.insert(contentsOf: Self.pieces[below(Self.pieces.count)], at: place)
            case 3 where place < bytes.count: bytes.removeSubrange(place..<min(bytes.count, place + 1 + below(16)))
            case 4 where place < bytes.count:
                let piece = Array(bytes[place..<min(bytes.count, place + 1 + below(64))])
                bytes.insert(contentsOf: piece, at: below(bytes.count + 1))
            case 5: bytes = Array(bytes[..<place])
            default:
                let piece = Self.pieces[below(Self.pieces.count)]
                let copies = Array(repeatElement(piece, count: 1 + below(40)).joined())
                bytes.insert(contentsOf: copies, at: place)
            }
        }
        return bytes
    }
}

/// One connection: sends, says that it is done, reads to the end.
enum SocketExchange {
    /// - Returns: what came, `nil` when the server neither answered nor closed within ten seconds.
    static func run(port: Int, sending bytes: [UInt8]) -> String? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let connected = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { return nil }
        // The server may close before it has read all of it.
        _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        shutdown(descriptor, Int32(SHUT_WR))
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count < 0 && errno == EAGAIN { return nil }
            if count <= 0 { return String(decoding: received, as: UTF8.self) }
            received += buffer[..<count]
        }
    }
}
