package import RedisClient

/// Why the queue could not do what was asked.
package struct JobQueueError: Error, CustomStringConvertible {
    package enum Code: String, Sendable {
        case invalidName
        /// An id that BullMQ refuses or that could collide with its counter.
        case invalidID
        case invalidPriority
        /// A due time beyond what the score of a delayed job can hold (September 2039).
        case invalidDelay
        /// Redis could not be asked or did not answer as it should.
        case redis
        /// The queue's keys would lie in several slots of a cluster.
        case needsHashTag
    }

    package let code: Code
    package let message: String
    /// What Redis or the way to it said, for `redis`.
    package let underlying: RedisError?

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
        underlying = nil
    }

    init(_ error: RedisError) {
        code = .redis
        message = error.description
        underlying = error
    }

    package var description: String { "queue \(code.rawValue): \(message)" }
}
