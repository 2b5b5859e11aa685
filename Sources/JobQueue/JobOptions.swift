package import Kernel

/// How a job shall be treated, in BullMQ's terms.
package struct JobOptions: Sendable, Equatable {
    /// How long to wait before another attempt, for workers that look at it.
    package enum Retry: Sendable, Equatable {
        case fixed(Duration)
        case exponential(Duration)
    }

    /// What stays of a finished job.
    package enum Retention: Sendable, Equatable {
        case keepAll
        case removeAtOnce
        /// The newest of the whole queue, by number, by age, or both.
        case keep(count: Int?, age: Duration?)
    }

    /// The job's id. `nil` for a number of the queue's counter.
    package var jobID: String?
    /// Counted from the timestamp, in whole milliseconds.
    package var delay: Duration
    /// 1 (first) to 2,097,151. 0 for none, which comes before all priorities.
    package var priority: Int
    /// Whether the job shall be the very next one.
    package var lifo: Bool
    /// How often the job may be tried in all.
    package var attempts: Int?
    package var backoff: Retry?
    /// `nil` leaves it to the worker.
    package var removeOnComplete: Retention?
    package var removeOnFail: Retention?
    /// When the job was made. `nil` for now.
    package var timestamp: Timestamp?
    /// How many of the job's log rows stay; `nil` for all.
    package var keepLogs: Int?
    /// How many stack traces of failed attempts stay; `nil` leaves it to the worker.
    package var stackTraceLimit: Int?
    /// Which other jobs count as the same one. Not together with a parent.
    package var deduplication: Deduplication?
    /// The job that waits for this one, for a job that is added to an older parent.
    package var parent: JobReference?
    /// What this job's final failure means for its parent.
    package var onFailure: ParentRule?

    package init(
        jobID: String? = nil,
        delay: Duration = .zero,
        priority: Int = 0,
        lifo: Bool = false,
        attempts: Int? = nil,
        backoff: Retry? = nil,
        removeOnComplete: Retention? = nil,
        removeOnFail: Retention? = nil,
        timestamp: Timestamp? = nil,
        keepLogs: Int? = nil,
        stackTraceLimit: Int? = nil,
        deduplication: Deduplication? = nil,
        parent: JobReference? = nil,
        onFailure: ParentRule? = nil
    ) {
        self.jobID = jobID
        self.delay = delay
        self.priority = priority
        self.lifo = lifo
        self.attempts = attempts
        self.backoff = backoff
        self.removeOnComplete = removeOnComplete
        self.removeOnFail = removeOnFail
        self.timestamp = timestamp
        self.keepLogs = keepLogs
        self.stackTraceLimit = stackTraceLimit
        self.deduplication = deduplication
        self.parent = parent
        self.onFailure = onFailure
    }

    /// Refuses what BullMQ refuses and what could harm the queue.
    func check(timestamp: Timestamp) throws(JobQueueError) {
        if let jobID {
            guard !jobID.isEmpty, jobID.utf8.count <= 512, !jobID.contains(":"), !jobID.utf8.contains(0) else {
                throw JobQueueError(.invalidID, "a job id has 1 to 512 bytes and no colon")
            }
            // Ids of the counter are such numbers, and BullMQ's counter does not look whether one is taken.
            guard Int64(jobID) == nil, !jobID.utf8.allSatisfy({ (48...57).contains($0) }) else {
                throw JobQueueError(.invalidID, "a job id may not be a whole number")
            }
        }
        guard (0...2_097_151).contains(priority) else {
            throw JobQueueError(.invalidPriority, "a priority is 1 to 2097151, or 0 for none")
        }
        let due = timestamp.milliseconds + max(delay.milliseconds, 0)
        guard timestamp.milliseconds >= 0, due <= Self.lastDueTime else {
            throw JobQueueError(
                .invalidDelay,
                "the due time lies beyond September 2039, where scores lose their sequence"
            )
        }
        if isRelated { try checkRelations() }
    }

    /// Refuses relations that make no sense.
    func checkRelations() throws(JobQueueError) {
        try deduplication?.check()
        guard deduplication == nil || parent == nil else {
            throw JobQueueError(.invalidDeduplication, "a child cannot have a deduplication id")
        }
    }

    /// The score of a delayed job is the due time times 4096, and a Double holds 53 bits.
    static let lastDueTime: Int64 = 2_199_023_255_551

    /// The options as BullMQ stores them.
    var json: String {
        var writer = JSONWriter(capacity: 96)
        writer.object { writer in
            writer.name("attempts")
            writer.integer(attempts ?? 0)
            if delay > .zero {
                writer.name("delay")
                writer.integer(delay.milliseconds)
            }
            if priority > 0 {
                writer.name("priority")
                writer.integer(priority)
            }
            if lifo { writer.member("lifo", true) }
            if let jobID { writer.member("jobId", jobID) }
            if let timestamp {
                writer.name("timestamp")
                writer.integer(timestamp.milliseconds)
            }
            if let backoff { Self.write(backoff, to: &writer) }
            if let removeOnComplete { Self.write(removeOnComplete, as: "removeOnComplete", to: &writer) }
            if let removeOnFail { Self.write(removeOnFail, as: "removeOnFail", to: &writer) }
            if let keepLogs { writer.member("kl", keepLogs) }
            if let stackTraceLimit { writer.member("stackTraceLimit", stackTraceLimit) }
            if let deduplication {
                writer.name("de")
                deduplication.write(to: &writer)
            }
            if let parent {
                writer.name("parent")
                writer.object { writer in
                    writer.member("id", parent.id)
                    writer.member("queue", "\(parent.queue)")
                }
            }
            if let onFailure { writer.member(onFailure.rawValue, true) }
        }
        return writer.text
    }

    private static func write(_ backoff: Retry, to writer: inout JSONWriter) {
        let (type, delay) =
            switch backoff {
            case .fixed(let delay): ("fixed", delay)
            case .exponential(let delay): ("exponential", delay)
            }
        writer.name("backoff")
        writer.object { writer in
            writer.member("type", type)
            writer.name("delay")
            writer.integer(delay.milliseconds)
        }
    }

    private static func write(_ retention: Retention, as name: String, to writer: inout JSONWriter) {
        switch retention {
        case .keepAll: writer.member(name, false)
        case .removeAtOnce: writer.member(name, true)
        case .keep(let count, let age):
            writer.name(name)
            writer.object { writer in
                if let count {
                    writer.name("count")
                    writer.integer(count)
                }
                if let age {
                    writer.name("age")
                    writer.integer(age.milliseconds / 1000)
                }
            }
        }
    }
}
