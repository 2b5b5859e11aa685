/// The PINGs that wait for their acknowledgement.
struct PendingPings {
    /// The payload of the stall detector's own PING; any frame answers that one.
    static let stallPayload: UInt64 = 0

    /// As many may wait at once.
    private static let capacity = 64

    private var waiting: [UInt64: ClientMailbox.Ping] = [:]
    private var last = stallPayload

    /// Remembers a PING.
    /// - Returns: the payload to send, or `nil` when too many wait; then the ping has failed.
    mutating func add(_ ping: ClientMailbox.Ping) -> UInt64? {
        guard waiting.count < Self.capacity else {
            ping.completion(.failure(HTTP2Error(.queueFull, "\(waiting.count) pings wait for an answer")))
            return nil
        }
        last += 1
        waiting[last] = ping
        return last
    }

    mutating func answered(_ payload: UInt64) {
        waiting.removeValue(forKey: payload)?.completion(.success(()))
    }

    mutating func expire(now: MonotonicTime) {
        for (payload, ping) in waiting where ping.deadline <= now {
            waiting.removeValue(forKey: payload)
            ping.completion(.failure(HTTP2Error(.timeout, "no answer to PING in time")))
        }
    }

    mutating func failAll(_ error: HTTP2Error) {
        for ping in waiting.values { ping.completion(.failure(error)) }
        waiting = [:]
    }

    var earliest: MonotonicTime? { waiting.values.map(\.deadline).min() }
}
