package import Kernel

/// What a handler is given: the job, and what it may do for it while it runs.
///
/// When the job's lock is lost, or a stop's grace is over, the handler's task is cancelled; whatever it then returns is not
/// recorded.
package struct JobContext: Sendable {
    let held: HeldJob
    private let queue: JobQueue

    init(_ held: HeldJob, queue: JobQueue) {
        self.held = held
        self.queue = queue
    }

    package var job: ClaimedJob { held.job }

    /// Whether another worker may hold the job by now. Look at this before a step that must not happen twice.
    package var isLost: Bool { held.isLost }

    /// The job's data as a value.
    /// - Throws: when it is no JSON. The text will not get better, so the failure is for good.
    package func value() throws(UnrecoverableFailure) -> JSONValue {
        do {
            return try JSONValue(parsing: job.data)
        } catch {
            throw UnrecoverableFailure("the data of the job is no JSON: \(error)")
        }
    }

    /// Tells how far the job has come.
    /// - Parameter progress: one JSON text, by custom a number up to 100 or an object.
    /// - Returns: whether the job is still there.
    @discardableResult
    package func updateProgress(_ progress: String) async throws(JobQueueError) -> Bool {
        try await queue.updateProgress(job.id, progress)
    }

    /// Adds a row to the job's log.
    /// - Returns: how many rows the log has now, `nil` when the job is gone.
    @discardableResult
    package func log(_ row: String) async throws(JobQueueError) -> Int? {
        try await queue.log(job.id, row)
    }
}
