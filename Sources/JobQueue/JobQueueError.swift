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
        case invalidDeduplication
        /// A tree of jobs that cannot be, or is too large.
        case invalidFlow
        /// The job's parent does not exist (-5 on the wire).
        case missingParent
        /// The id belongs to the child of another parent (-7).
        case parentConflict
        /// A rhythm, pattern or time zone that is not understood.
        case invalidSchedule
        /// The scheduler's next run has the id of another job (-10).
        case schedulerCollision
        /// The scheduler's next two runs have the ids of other jobs (-11).
        case schedulerBusy
        /// What only a paused queue allows.
        case notPaused
        /// What cannot be done while jobs are active.
        case jobsActive
        /// More than one step may handle.
        case tooMany
        /// Text that is no JSON.
        case invalidJSON
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
