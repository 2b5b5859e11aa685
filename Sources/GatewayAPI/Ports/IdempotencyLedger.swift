package import Notifications

/// The answer given to an idempotent request, as it is kept.
package struct RecordedAnswer: Sendable, Equatable {
    package var status: Int
    /// JSON text.
    package var body: String

    package init(status: Int, body: String) {
        self.status = status
        self.body = body
    }
}

/// What the ledger says to a request with an idempotency key.
package enum IdempotencyVerdict: Sendable, Equatable {
    /// Go on with these ids: the caller's own for a new key, the recorded ones for a request that once began and never ended.
    case proceed([MessageID])
    /// The same request runs elsewhere at this moment.
    case running
    /// It has ended: answer this.
    case replay(RecordedAnswer)
    /// The key was used for another request.
    case mismatch
}

/// Remembers requests by credential and idempotency key for a day. Every call throws `Unavailable` when the store does not
/// answer.
package protocol IdempotencyLedger: Sendable {
    /// Claims the key before anything is done.
    func begin(credential: String, key: String, fingerprint: String, ids: [MessageID]) async throws
        -> IdempotencyVerdict
    /// Records the answer.
    func finish(credential: String, key: String, answer: RecordedAnswer) async throws
    /// Gives the key free after a failure; a repeat goes on with the same ids.
    func release(credential: String, key: String) async throws
}
