import Synchronization

/// The jobs this process holds, for lock renewal and for giving them back at the end.
final class InFlightJobs: Sendable {
    private struct Entry {
        let token: String
        var isLost = false
    }

    private let jobs = Mutex<[String: Entry]>([:])

    var count: Int { jobs.withLock { $0.count } }

    func add(_ leased: [LeasedJob]) {
        jobs.withLock { jobs in
            for job in leased { jobs[job.id] = Entry(token: job.token) }
        }
    }

    func remove(_ ids: some Sequence<String>) {
        jobs.withLock { jobs in
            for id in ids { jobs[id] = nil }
        }
    }

    /// Notes that these jobs belong to somebody else by now.
    func markLost(_ ids: Set<String>) {
        jobs.withLock { jobs in
            for id in ids { jobs[id]?.isLost = true }
        }
    }

    func isLost(_ id: String) -> Bool {
        jobs.withLock { $0[id]?.isLost ?? false }
    }

    /// The jobs whose locks are to be renewed.
    var held: [(id: String, token: String)] {
        jobs.withLock { jobs in jobs.compactMap { $0.value.isLost ? nil : (id: $0.key, token: $0.value.token) } }
    }
}
