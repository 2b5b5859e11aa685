package import Kernel

/// A scheduler as it lies in Redis: `repeat:<id>`.
package struct JobScheduler: Sendable, Equatable {
    package let id: String
    /// The name of its jobs.
    package let name: String
    package let schedule: Schedule
    /// The time zone of a pattern. Only UTC is understood here.
    package let timeZone: String?
    /// JSON text of its jobs' data.
    package let data: String
    /// JSON text of its jobs' options, or `{}`.
    package let options: String
    /// The run that waits, or the last one when the scheduler has ended.
    package let next: Timestamp?
    /// How many runs were made.
    package let iterations: Int

    /// Reads the fields of a hash. Unreadable numbers count as missing.
    init?(id: String, fields: [String: String], next: Timestamp?) {
        func integer(_ name: String) -> Int64? {
            fields[name].flatMap { text in Int64(text) ?? Double(text).flatMap { Int64(exactly: $0.rounded()) } }
        }
        guard let name = fields["name"] else { return nil }
        let rhythm: Schedule.Rhythm
        if let every = integer("every") {
            rhythm = .every(.milliseconds(every), offset: integer("offset").map { .milliseconds($0) })
        } else if let pattern = fields["pattern"] {
            rhythm = .pattern(pattern)
        } else {
            return nil
        }
        self.id = id
        self.name = name
        schedule = Schedule(
            rhythm,
            limit: integer("limit").flatMap { Int(exactly: $0) },
            startDate: integer("startDate").map { Timestamp(milliseconds: $0) },
            endDate: integer("endDate").map { Timestamp(milliseconds: $0) }
        )
        timeZone = fields["tz"]
        data = fields["data"] ?? "{}"
        options = fields["opts"] ?? "{}"
        self.next = next
        iterations = integer("ic").flatMap { Int(exactly: $0) } ?? 0
    }

    /// Whether its time zone is one that is understood. A pattern without one counts as UTC.
    var hasKnownTimeZone: Bool {
        guard case .pattern = schedule.rhythm, let timeZone, !timeZone.isEmpty else { return true }
        return ["utc", "etc/utc", "etc/gmt", "gmt", "z", "zulu", "etc/zulu"].contains(timeZone.lowercased())
    }

    /// The options of the run at `time`: the scheduler's own for its jobs, and what tells every client whose run it is.
    static func runOptions(
        template: String,
        scheduler id: String,
        schedule: Schedule,
        timeZone: String?,
        time: Timestamp,
        now: Timestamp,
        count: Int
    ) -> String {
        let own: Set = ["delay", "jobId", "timestamp", "prevMillis", "repeatJobKey", "repeat"]
        let members = ((try? JSONValue(parsing: template))?.members ?? []).filter { !own.contains($0.name) }
        var writer = JSONWriter()
        writer.object { writer in
            for member in members {
                writer.name(member.name)
                writer.value(member.value)
            }
            writer.member("delay", max(time.milliseconds - now.milliseconds, 0))
            writer.member("jobId", "repeat:\(id):\(time.milliseconds)")
            writer.member("timestamp", now.milliseconds)
            writer.member("prevMillis", time.milliseconds)
            writer.member("repeatJobKey", id)
            writer.name("repeat")
            writer.object { writer in
                switch schedule.rhythm {
                case .every(let interval, let offset):
                    writer.member("every", interval.milliseconds)
                    if let offset { writer.member("offset", offset.milliseconds) }
                case .pattern(let pattern): writer.member("pattern", pattern)
                }
                writer.member("tz", optional: timeZone)
                if let limit = schedule.limit { writer.member("limit", limit) }
                if let start = schedule.startDate { writer.member("startDate", start.milliseconds) }
                if let end = schedule.endDate { writer.member("endDate", end.milliseconds) }
                writer.member("count", count)
            }
        }
        return writer.text
    }
}
