package import Kernel
import RedisClient

/// A job that this worker holds.
package struct ClaimedJob: Sendable, Equatable {
    package let id: String
    package let name: String
    /// The JSON text that the producer gave.
    package let data: String
    /// The options as JSON text, written by whatever client added the job. Numbers may stand there as `1e+15`.
    package let opts: String
    /// When the job was made; `nil` when that field is missing or no whole number.
    package let timestamp: Timestamp?
    package let priority: Int
    /// How often the job was taken, this time included.
    package let attemptsStarted: Int
    /// How many attempts were counted.
    package let attemptsMade: Int
    /// How often its worker was found to be gone.
    package let stalledCount: Int
    /// When present, the job shall fail with this reason and not be run.
    package let deferredFailure: String?
    /// Shows that we hold the lock.
    package let token: String

    package init(
        id: String,
        name: String,
        data: String,
        opts: String = "{}",
        timestamp: Timestamp?,
        priority: Int = 0,
        attemptsStarted: Int = 1,
        attemptsMade: Int = 0,
        stalledCount: Int = 0,
        deferredFailure: String? = nil,
        token: String
    ) {
        self.id = id
        self.name = name
        self.data = data
        self.opts = opts
        self.timestamp = timestamp
        self.priority = priority
        self.attemptsStarted = attemptsStarted
        self.attemptsMade = attemptsMade
        self.stalledCount = stalledCount
        self.deferredFailure = deferredFailure
        self.token = token
    }

    /// What is needed to renew the lock or let the job go.
    package var locked: LockedJob { LockedJob(id: id, token: token) }

    /// The options as a value; an empty object when they cannot be read.
    package var options: JSONValue {
        (try? JSONValue(parsing: opts)) ?? .object([])
    }

    /// The fields of a job's hash that are read when it was taken.
    static let fields: [RedisArgument] = [
        "name", "data", "opts", "timestamp", "priority", "ats", "atm", "defa", "stc",
    ]

    /// Reads the values of `fields`. `nil` when there is no job any more.
    init?(id: String, token: String, values: [RedisReply]) throws(RedisError) {
        guard values.count == Self.fields.count else {
            throw RedisError(.unexpectedReply, "claim: a job has \(Self.fields.count) parts", wasSent: true)
        }
        guard !values[0].isNull || !values[1].isNull else { return nil }
        self.id = id
        self.token = token
        name = values[0].string ?? ""
        data = values[1].string ?? ""
        opts = values[2].string ?? "{}"
        timestamp = values[3].integer.map { Timestamp(milliseconds: $0) }
        priority = values[4].int ?? 0
        attemptsStarted = values[5].int ?? 1
        attemptsMade = values[6].int ?? 0
        deferredFailure = values[7].string
        stalledCount = values[8].int ?? 0
    }
}

/// A job's id with the token of its lock.
package struct LockedJob: Sendable, Equatable {
    package let id: String
    package let token: String

    package init(id: String, token: String) {
        self.id = id
        self.token = token
    }
}

/// What a claim gave.
package struct ClaimResult: Sendable {
    package let jobs: [ClaimedJob]
    /// When the next delayed job is due.
    package let nextDue: Timestamp?
    package let isPaused: Bool
    /// How long the queue's rate limit lets nothing be taken.
    package let limitedFor: Duration?

    package init(
        jobs: [ClaimedJob],
        nextDue: Timestamp? = nil,
        isPaused: Bool = false,
        limitedFor: Duration? = nil
    ) {
        self.jobs = jobs
        self.nextDue = nextDue
        self.isPaused = isPaused
        self.limitedFor = limitedFor
    }
}

/// The end of a job.
package struct FinishedJob: Sendable {
    package enum Result: Sendable {
        /// With the return value as one JSON text.
        case completed(returnvalue: String)
        /// With the reason as plain text, and a trace for people when there is one.
        case failed(reason: String, trace: String? = nil)
    }

    package let job: LockedJob
    package let result: Result

    package init(_ job: LockedJob, _ result: Result) {
        self.job = job
        self.result = result
    }
}

/// A job that shall run later, or by somebody else.
package struct MovedJob: Sendable {
    package enum Target: Sendable {
        /// Run again at this time. `skipAttempt` when this one does not count.
        case delayed(until: Timestamp, skipAttempt: Bool)
        /// Wait again as next in line; the attempt does not count.
        case waiting
        /// Wait again behind all others of its priority, or as next in line with the option `lifo`; the attempt counts.
        case retry
    }

    package let job: LockedJob
    package let target: Target
    /// Why, for people, as plain text.
    package let failedReason: String?
    package let trace: String?

    package init(_ job: LockedJob, to target: Target, failedReason: String? = nil, trace: String? = nil) {
        self.job = job
        self.target = target
        self.failedReason = failedReason
        self.trace = trace
    }
}

/// Whether a job could be let go of.
package enum ReleaseResult: Sendable, Equatable {
    case done
    /// Another worker holds the job, or it is not active: nothing was changed.
    case lockLost
    /// Nobody holds the job: its lock ran out, or it was ended before. Nothing was changed.
    case notLocked
    /// The job is gone from the queue.
    case missing
}

/// What the check for stalled jobs did.
package struct StalledJobs: Sendable, Equatable {
    /// Jobs that are back in the queue.
    package let recovered: [String]
    /// How many of them stalled too often and will fail when they are taken.
    package let failing: Int
    /// Ids dropped from `active` because no job stood behind them.
    package let dropped: [String]
}
