package import Kernel
import RedisClient

/// What became of a try to take a job back.
package enum TakingBack: Sendable, Equatable {
    /// The job of this id was taken back.
    case done(id: String)
    /// None of the ids names a job.
    case missing
    /// A worker holds it.
    case active
    /// It has completed or failed.
    case ended
    /// A worker held it before; it waits to be run again.
    case begun
    /// It belongs to a flow, a scheduler or a deduplication id, and is administered there.
    case related
}

extension JobQueue {
    /// Removes a job that no worker has ever held, in one atomic step.
    /// - Parameter ids: the ids that the job may have; the first that names a job counts.
    package func takeBack(_ ids: [String]) async throws(JobQueueError) -> TakingBack {
        try await takeBack(ids, newID: "", due: Timestamp(milliseconds: 0))
    }

    /// Gives a job that no worker has ever held another id and due time, in one atomic step: it is never lost and never there
    /// twice. Data, priority and time of creation stay.
    /// - Parameters:
    ///   - ids: the ids that the job may have; the first that names a job counts.
    ///   - newID: an id that no job has.
    ///   - due: a past moment means now.
    package func move(_ ids: [String], to newID: String, due: Timestamp) async throws(JobQueueError) -> TakingBack {
        try JobOptions(jobID: newID).check(timestamp: due)
        return try await takeBack(ids, newID: newID, due: due)
    }

    private func takeBack(_ ids: [String], newID: String, due: Timestamp) async throws(JobQueueError) -> TakingBack {
        guard !ids.isEmpty else { return .missing }
        guard ids.count <= Self.manyLimit else { throw JobQueueError(.tooMany, "more than \(Self.manyLimit) ids") }
        let reply = try await connection.run(
            QueueScripts.takeBack,
            [.string(newID), .integer(due.milliseconds)] + ids.map(RedisArgument.string)
        )
        let (code, id) = try reply.reading { reply throws(RedisError) in
            let parts = try reply.requireArray("take back")
            guard parts.count == 2 else { throw RedisError(.unexpectedReply, "take back: two parts are expected") }
            return (try parts[0].requireInt("take back"), try parts[1].requireString("take back"))
        }
        switch code {
        case 1: return .done(id: id)
        case 0: return .missing
        case -1: return .active
        case -2: return .ended
        case -3: return .begun
        case -4: return .related
        default: throw JobQueueError(.invalidID, "the new id is taken")
        }
    }
}
