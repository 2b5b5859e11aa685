/// What a check of a queue's keys found. Every finding was looked at twice, the second time in one atomic step, because the
/// queue moves while it is read.
package struct QueueReport: Sendable, Equatable {
    /// A job and where it stands.
    package struct Place: Sendable, Equatable {
        package let id: String
        package let states: [String]

        package init(id: String, states: [String]) {
            self.id = id
            self.states = states
        }
    }

    package var counts = JobCounts()
    /// How many ids and keys were looked at.
    package var idsSeen = 0
    package var keysSeen = 0
    /// Ids in a state without a job behind them. Workers skip them; dashboards show empty rows.
    package var ghosts: [Place] = []
    /// Jobs in no state: nobody will ever run or remove them.
    package var orphans: [String] = []
    /// Jobs in two states, or twice in one.
    package var doubled: [Place] = []
    /// Jobs that are locked though no worker can have them.
    package var strayLocks: [String] = []
    /// Keys of jobs that are gone, such as logs.
    package var leftovers: [String] = []
    /// Deduplication ids whose owner is gone: clients of BullMQ drop jobs for them for ever.
    package var staleDeduplication: [String] = []
    /// Schedulers in `repeat` without a description, or with one and no next run.
    package var brokenSchedulers: [String] = []
    /// How many ghosts were taken out.
    package var repaired = 0
    /// Whether there was more than one check looks at.
    package var truncated = false

    package init() {}

    /// Whether nothing is wrong that is still there.
    package var isClean: Bool {
        ghosts.count == repaired && orphans.isEmpty && doubled.isEmpty && strayLocks.isEmpty && leftovers.isEmpty
            && staleDeduplication.isEmpty && brokenSchedulers.isEmpty
    }

    /// The report in words, one finding to a line and at most ten of each kind.
    package var text: String {
        var lines = [
            "waiting \(counts.waiting), paused \(counts.paused), prioritized \(counts.prioritized), delayed \(counts.delayed), "
                + "active \(counts.active), completed \(counts.completed), failed \(counts.failed), "
                + "waiting-children \(counts.waitingChildren)",
            "looked at \(idsSeen) ids and \(keysSeen) keys\(truncated ? "; there are more, this report is not complete" : "")",
        ]
        func add(_ title: String, _ findings: [String]) {
            guard !findings.isEmpty else { return }
            lines.append("\(title): \(findings.count)")
            lines += findings.prefix(10).map { "  \($0)" }
            if findings.count > 10 { lines.append("  ...") }
        }
        func places(_ places: [Place]) -> [String] {
            places.map { "\($0.id) in \($0.states.joined(separator: ", "))" }
        }
        add("ids without a job", places(ghosts))
        if repaired > 0 { lines.append("  taken out: \(repaired)") }
        add("jobs in no state", orphans)
        add("jobs in more than one place", places(doubled))
        add("locks of jobs that are not active", strayLocks)
        add("keys of jobs that are gone", leftovers)
        add("deduplication ids whose owner is gone", staleDeduplication)
        add("schedulers that cannot go on", brokenSchedulers)
        if isClean { lines.append("nothing is wrong") }
        return lines.joined(separator: "\n")
    }
}
