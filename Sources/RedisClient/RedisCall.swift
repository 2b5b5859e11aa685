import Synchronization

/// Commands that were asked for together and get their answers together.
final class RedisCall: Sendable {
    let commands: [RedisCommand]
    /// The moment after which the caller wants to hear that it took too long.
    let deadline: ContinuousClock.Instant
    private let continuation: Mutex<CheckedContinuation<Result<[RedisReply], RedisError>, Never>?>

    init(
        commands: [RedisCommand],
        deadline: ContinuousClock.Instant,
        continuation: CheckedContinuation<Result<[RedisReply], RedisError>, Never>
    ) {
        self.commands = commands
        self.deadline = deadline
        self.continuation = Mutex(continuation)
    }

    /// Gives the caller its result. Only the first time counts.
    func finish(_ result: sending Result<[RedisReply], RedisError>) {
        let waiting = continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        waiting?.resume(returning: result)
    }
}
