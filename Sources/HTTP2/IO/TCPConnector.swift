import Glibc
import Kernel

/// Opens TCP connections for a thread of its own, with one deadline over all addresses.
enum TCPConnector {
    /// Connects to one of the addresses, tried in the given order.
    /// - Returns: a non-blocking socket, which the caller closes.
    static func connect(
        to addresses: [SocketAddress],
        host: String,
        deadline: MonotonicTime
    ) throws(HTTP2Error) -> Int32 {
        var reasons: [String] = []
        for (index, address) in addresses.enumerated() {
            let now = MonotonicTime.now
            guard now < deadline else { break }
            // An address that swallows packets may not use up the time of those after it.
            let share = (deadline.nanoseconds - now.nanoseconds) / Int64(addresses.count - index)
            let attemptDeadline = MonotonicTime(nanoseconds: now.nanoseconds + share)
            switch attempt(address, deadline: attemptDeadline) {
            case .success(let descriptor): return descriptor
            case .failure(let failure): reasons.append(failure.reason)
            }
        }
        let text = Set(reasons).sorted().joined(separator: ", ")
        throw HTTP2Error(
            .connectFailed,
            "no address of \(host) took the connection (\(addresses.count) tried): \(text.isEmpty ? "timeout" : text)"
        )
    }

    private struct Failure: Error {
        let reason: String
    }

    private static func attempt(_ address: SocketAddress, deadline: MonotonicTime) -> Result<Int32, Failure> {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.family, type, 0)
        guard descriptor >= 0 else { return .failure(Failure(reason: systemMessage(errno))) }
        var problem = address.withPointer { pointer, length in
            Glibc.connect(descriptor, pointer, length) == 0 ? 0 : errno
        }
        if problem == EINPROGRESS {
            if waitUntilReady(descriptor, Int16(POLLOUT), deadline: deadline) {
                var length = socklen_t(MemoryLayout<Int32>.size)
                getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &problem, &length)
            } else {
                problem = ETIMEDOUT
            }
        }
        guard problem == 0 else {
            close(descriptor)
            return .failure(Failure(reason: systemMessage(problem)))
        }
        tune(descriptor)
        return .success(descriptor)
    }

    /// Small frames leave at once, and a peer that vanished is noticed: after a minute of silence the kernel probes it every
    /// 15 s, and bytes that nobody acknowledges for 30 s end the connection.
    static func tune(_ descriptor: Int32) {
        let options: [(Int32, Int32, Int32)] = [
            (Int32(IPPROTO_TCP), TCP_NODELAY, 1),
            (SOL_SOCKET, SO_KEEPALIVE, 1),
            (Int32(IPPROTO_TCP), TCP_KEEPIDLE, 60),
            (Int32(IPPROTO_TCP), TCP_KEEPINTVL, 15),
            (Int32(IPPROTO_TCP), TCP_KEEPCNT, 4),
            (Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, 30_000),
        ]
        for (level, name, value) in options {
            var value = value
            setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
        }
    }
}

/// Waits for one descriptor.
/// - Returns: whether it became ready before the deadline.
func waitUntilReady(_ descriptor: Int32, _ events: Int16, deadline: MonotonicTime) -> Bool {
    while true {
        let now = MonotonicTime.now
        var entry = pollfd(fd: descriptor, events: events, revents: 0)
        if poll(&entry, 1, deadline.pollTimeout(now: now)) > 0 { return true }
        if now >= deadline { return false }
    }
}
