package import Kernel

/// When a scheduler makes jobs.
package struct Schedule: Sendable, Equatable {
    package enum Rhythm: Sendable, Equatable {
        /// At this interval. Runs lie at multiples of it since 1970 plus the offset; without one the first run sets it.
        case every(Duration, offset: Duration? = nil)
        /// A cron pattern in UTC.
        case pattern(String)
    }

    package var rhythm: Rhythm
    /// How many runs there are in all.
    package var limit: Int?
    /// No run before it.
    package var startDate: Timestamp?
    /// No run after it.
    package var endDate: Timestamp?

    package init(_ rhythm: Rhythm, limit: Int? = nil, startDate: Timestamp? = nil, endDate: Timestamp? = nil) {
        self.rhythm = rhythm
        self.limit = limit
        self.startDate = startDate
        self.endDate = endDate
    }

    /// The first run, which for an interval is now unless the offset or the start says otherwise.
    /// - Throws: `invalidSchedule` when there is none.
    func first(now: Timestamp) throws(JobQueueError) -> Timestamp {
        if let limit, limit < 1 { throw JobQueueError(.invalidSchedule, "a scheduler makes at least one run") }
        let from = max(now, startDate ?? now)
        let time: Timestamp?
        switch rhythm {
        case .every(let interval, let offset):
            let every = interval.milliseconds
            guard every > 0 else { throw JobQueueError(.invalidSchedule, "an interval is at least a millisecond") }
            if let offset {
                let phase = (offset.milliseconds % every + every) % every
                let slot = (from.milliseconds - phase + every - 1) / every * every + phase
                time = Timestamp(milliseconds: slot)
            } else {
                time = from
            }
        case .pattern(let pattern):
            time = try CronSchedule(pattern).next(after: from - .milliseconds(1))
        }
        guard let time, time <= endDate ?? time, time.milliseconds <= JobOptions.lastDueTime else {
            throw JobQueueError(.invalidSchedule, "there is no run between start and end")
        }
        return time
    }

    /// The run after one that was due at `previous`, `nil` when that was the last.
    /// - Parameter iterations: how many runs were made, that one included.
    func next(after previous: Timestamp, now: Timestamp, iterations: Int) throws(JobQueueError) -> Timestamp? {
        if let limit, iterations >= limit { return nil }
        let time: Timestamp?
        switch rhythm {
        case .every(let interval, let offset):
            let every = interval.milliseconds
            guard every > 0 else { throw JobQueueError(.invalidSchedule, "an interval is at least a millisecond") }
            var slot = previous.milliseconds + every
            if slot < now.milliseconds {
                // What was missed is not made up for; the phase stays.
                slot = now.milliseconds / every * every + (offset?.milliseconds ?? previous.milliseconds % every)
                if slot <= now.milliseconds { slot += every }
            }
            time = Timestamp(milliseconds: slot)
        case .pattern(let pattern):
            // A run that was promoted by hand was taken before its time, and must not be planned again.
            time = try CronSchedule(pattern).next(after: max(now, previous))
        }
        guard let time, time <= endDate ?? time, time.milliseconds <= JobOptions.lastDueTime else { return nil }
        return time
    }

    /// The offset that later runs keep to, given the first one.
    func phase(first: Timestamp) -> Int64 {
        switch rhythm {
        case .every(let interval, let offset):
            offset?.milliseconds ?? first.milliseconds % max(interval.milliseconds, 1)
        case .pattern: 0
        }
    }
}
