import RedisClient
import Synchronization

/// Waits for an answer of Redis until a deadline, without giving up the call itself: that ends by the client's own timeout.
enum AnswerInTime {
    /// - Parameter deadline: `nil` to wait for as long as the client does.
    /// - Throws: the call's error, or `timeout` when the deadline was first.
    static func wait(
        _ deadline: Duration?,
        _ call: @escaping @Sendable () async throws(RedisError) -> [RedisReply]
    ) async throws(RedisError) -> [RedisReply] {
        guard let deadline else { return try await call() }
        let result = await withCheckedContinuation { continuation in
            let first = First(continuation)
            let timer = Task {
                // Cancelled once the answer is here.
                try? await Task.sleep(for: deadline)
                first.resume(.failure(RedisError(.timeout, "the caps did not answer in time (the slots may be taken)")))
            }
            Task {
                do throws(RedisError) {
                    first.resume(.success(try await call()))
                } catch {
                    first.resume(.failure(error))
                }
                timer.cancel()
            }
        }
        return try result.get()
    }

    /// Passes on the first of two results.
    private final class First: Sendable {
        typealias Outcome = Result<[RedisReply], RedisError>

        private let continuation: Mutex<CheckedContinuation<Outcome, Never>?>

        init(_ continuation: CheckedContinuation<Outcome, Never>) {
            self.continuation = Mutex(continuation)
        }

        func resume(_ outcome: Outcome) {
            let waiting = continuation.withLock { continuation in
                defer { continuation = nil }
                return continuation
            }
            waiting?.resume(returning: outcome)
        }
    }
}
