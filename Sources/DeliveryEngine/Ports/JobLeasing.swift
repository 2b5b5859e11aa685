package import Kernel

/// A job that this process holds for a while.
package struct LeasedJob: Sendable {
    package let id: String
    /// Proof that we hold it.
    package let token: String
    /// The job's data as JSON text, as its producer wrote it.
    package let data: String
    /// When it was created; may be nonsense in a foreign job.
    package let timestamp: Timestamp?
    /// The delay asked for when it was created.
    package let delay: Duration
    /// How often it was taken, this time included.
    package let attemptsStarted: Int
    /// `opts.attempts` when it is above 1.
    package let attemptsLimit: Int?
    /// The queue asks us to end it as failed for this reason.
    package let deferredFailure: String?

    package init(
        id: String,
        token: String,
        data: String,
        timestamp: Timestamp?,
        delay: Duration,
        attemptsStarted: Int,
        attemptsLimit: Int?,
        deferredFailure: String?
    ) {
        self.id = id
        self.token = token
        self.data = data
        self.timestamp = timestamp
        self.delay = delay
        self.attemptsStarted = attemptsStarted
        self.attemptsLimit = attemptsLimit
        self.deferredFailure = deferredFailure
    }
}

/// What a claim brought.
package struct LeasedGroup: Sendable {
    package let jobs: [LeasedJob]
    /// When the next delayed job is due.
    package let nextDue: Timestamp?

    package init(jobs: [LeasedJob], nextDue: Timestamp?) {
        self.jobs = jobs
        self.nextDue = nextDue
    }
}

/// How a job leaves this process.
package enum JobEnding: Sendable, Equatable {
    /// Done; the return value is JSON text.
    case completed(returnValue: String)
    case failed(reason: String)
    /// Again at a later time. `countsAttempt` is BullMQ's attempts made.
    case again(at: Timestamp, countsAttempt: Bool, reason: String?)
    /// Back to the front of the queue, as if never taken.
    case givenBack

    /// Whether the job is over.
    package var isFinal: Bool {
        switch self {
        case .completed, .failed: true
        case .again, .givenBack: false
        }
    }
}

/// A job with its ending.
package struct EndedJob: Sendable, Equatable {
    package let id: String
    package let token: String
    package let ending: JobEnding

    package init(id: String, token: String, ending: JobEnding) {
        self.id = id
        self.token = token
        self.ending = ending
    }
}

/// The queue as the engine uses it, always in groups.
package protocol JobLeasing: Sendable {
    /// Takes up to `limit` jobs that are due, among them at most `prioritizedLimit` with a priority: the rest of the places is
    /// kept for the plain list.
    func claim(limit: Int, prioritizedLimit: Int) async throws -> LeasedGroup
    /// Waits until there may be work, at most two seconds and not beyond `nextDue`.
    func waitForWork(nextDue: Timestamp?) async
    /// Renews the locks. Returns the ids of jobs that are no longer ours.
    func extend(_ jobs: [(id: String, token: String)]) async throws -> Set<String>
    /// Ends jobs. Returns the ids of jobs that were no longer ours, whose ending changed nothing.
    /// - Parameter isRepeat: whether the same was asked before with nobody knowing what became of it: a job without any lock counts
    ///   as ended then.
    func end(_ jobs: [EndedJob], isRepeat: Bool) async throws -> Set<String>
    /// Brings back jobs whose worker is gone.
    func recoverStalled() async throws
}
