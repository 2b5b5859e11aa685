import CHiredis
import Glibc
import Kernel

/// One non-blocking connection of hiredis. Belongs to the thread that made it and is thrown away after any error.
final class RedisSocket {
    private let context: UnsafeMutablePointer<redisContext>
    /// Whether bytes wait to be written.
    private(set) var hasOutput = false

    /// Begins to connect. Names of hosts are resolved here, which may block the thread.
    init(connectingTo address: RedisURL.Address) throws(RedisError) {
        let made =
            switch address {
            case .tcp(let host, let port): redisConnectNonBlock(host, Int32(port))
            case .unix(let path): redisConnectUnixNonBlock(path)
            }
        guard let made else { throw RedisError(.notConnected, "no memory for a connection") }
        guard made.pointee.err == 0 else {
            let message = Self.message(of: made)
            redisFree(made)
            throw RedisError(.notConnected, message)
        }
        context = made
        if case .tcp = address {
            // Requests are written whole, so waiting for more to send only costs time.
            var on: Int32 = 1
            setsockopt(context.pointee.fd, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
            setsockopt(context.pointee.fd, SOL_SOCKET, SO_KEEPALIVE, &on, socklen_t(MemoryLayout<Int32>.size))
        }
    }

    deinit {
        redisFree(context)
    }

    var descriptor: Int32 { context.pointee.fd }

    /// How the attempt to connect ended, to be asked once the descriptor is writable.
    func finishConnecting() throws(RedisError) {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) == 0 else {
            throw RedisError(.notConnected, Self.text(ofErrno: errno))
        }
        guard code == 0 else { throw RedisError(.notConnected, Self.text(ofErrno: code)) }
    }

    /// Adds a command to the output.
    func append(_ command: RedisCommand) {
        command.encoded.withUnsafeBytes { bytes in
            // Fails only when memory is short, where malloc does not fail on Linux.
            _ = redisAppendFormattedCommand(context, bytes.bindMemory(to: CChar.self).baseAddress, bytes.count)
        }
        hasOutput = true
    }

    /// Writes as much output as the kernel takes now.
    func write() throws(RedisError) {
        while hasOutput {
            errno = 0
            var done: Int32 = 0
            guard redisBufferWrite(context, &done) == REDIS_OK else { throw lost() }
            hasOutput = done == 0
            // On a full socket buffer hiredis answers OK without having written.
            if errno == EAGAIN { return }
        }
    }

    /// Reads what the kernel holds now.
    func read() throws(RedisError) {
        guard redisBufferRead(context) == REDIS_OK else { throw lost() }
    }

    /// The next complete answer, if one has been read.
    func nextReply() throws(RedisError) -> RedisReply? {
        var pointer: UnsafeMutableRawPointer?
        guard redisGetReplyFromReader(context, &pointer) == REDIS_OK else { throw lost() }
        guard let pointer else { return nil }
        // The reply is ours to free, with everything in it.
        defer { freeReplyObject(pointer) }
        return Self.copy(pointer.assumingMemoryBound(to: redisReply.self))
    }

    private static func copy(_ reply: UnsafePointer<redisReply>) -> RedisReply {
        let value = reply.pointee
        switch value.type {
        case REDIS_REPLY_INTEGER: return .integer(value.integer)
        case REDIS_REPLY_STRING: return .bulk(bytes(of: value))
        case REDIS_REPLY_STATUS: return .status(String(decoding: bytes(of: value), as: UTF8.self))
        case REDIS_REPLY_ERROR: return .error(String(decoding: bytes(of: value), as: UTF8.self))
        case REDIS_REPLY_ARRAY:
            var elements: [RedisReply] = []
            elements.reserveCapacity(value.elements)
            for index in 0..<value.elements {
                if let element = value.element[index] { elements.append(copy(element)) }
            }
            return .array(elements)
        default: return .null
        }
    }

    private static func bytes(of reply: redisReply) -> [UInt8] {
        guard let text = reply.str else { return [] }
        return Array(UnsafeRawBufferPointer(start: text, count: reply.len))
    }

    private func lost() -> RedisError {
        RedisError(.connectionLost, Self.message(of: context))
    }

    private static func message(of context: UnsafeMutablePointer<redisContext>) -> String {
        withUnsafeBytes(of: context.pointee.errstr) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    private static func text(ofErrno code: Int32) -> String {
        String(cString: strerror(code))
    }
}
