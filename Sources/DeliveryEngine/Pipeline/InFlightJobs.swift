import Synchronization

/// The jobs this process holds, for lock renewal and for giving them back at the end.
final class InFlightJobs: Sendable {
    /// A job and the lock it was taken with: the same worker may take a job again after its lock lapsed, and the two runs must
    /// not be mistaken for each other.
    private struct Lease: Hashable {
        let id: String
        let token: String
    }

    /// Whether the lease is lost.
    private let jobs = Mutex<[Lease: Bool]>([:])

    var count: Int { jobs.withLock { $0.count } }

    func add(_ leased: [LeasedJob]) {
        jobs.withLock { jobs in
            for job in leased { jobs[Lease(id: job.id, token: job.token)] = false }
        }
    }

    func remove(_ ended: [LeasedJob]) {
        jobs.withLock { jobs in
            for job in ended { jobs[Lease(id: job.id, token: job.token)] = nil }
        }
    }

    /// Notes which of the leases whose renewal was asked for belong to somebody else by now.
    func markLost(_ ids: Set<String>, among asked: [(id: String, token: String)]) {
        jobs.withLock { jobs in
            for lease in asked where ids.contains(lease.id) {
                let key = Lease(id: lease.id, token: lease.token)
                if jobs[key] != nil { jobs[key] = true }
            }
        }
    }

    func isLost(_ job: LeasedJob) -> Bool {
        jobs.withLock { $0[Lease(id: job.id, token: job.token)] ?? false }
    }

    /// The leases whose locks are to be renewed.
    var held: [(id: String, token: String)] {
        jobs.withLock { jobs in jobs.compactMap { $0.value ? nil : (id: $0.key.id, token: $0.key.token) } }
    }
}
