import Synchronization

/// The jobs this process holds, for lock renewal and for giving them back at the end.
///
/// A lock counts as lost when the queue says so, and also when it cannot have been renewed for as long as it lives: a worker that is
/// cut off from the queue alone must not decide what another may be deciding by then.
final class InFlightJobs: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// A job and the lock it was taken with: the same worker may take a job again after its lock lapsed, and the two runs must
    /// not be mistaken for each other.
    private struct Lease: Hashable {
        let id: String
        let token: String
    }

    private struct Hold {
        /// When the lock lapses at the soonest: counted from before it was taken or renewed.
        var validUntil: Instant
        var isLost = false
    }

    private let lockDuration: Duration
    private let now: @Sendable () -> Instant
    private let jobs = Mutex<[Lease: Hold]>([:])

    /// - Parameter lockDuration: how long a lock lives that is not renewed.
    init(lockDuration: Duration, now: @escaping @Sendable () -> Instant = { .now }) {
        self.lockDuration = lockDuration
        self.now = now
    }

    var count: Int { jobs.withLock { $0.count } }

    /// - Parameter moment: before the jobs were taken.
    func add(_ leased: [LeasedJob], takenSince moment: Instant) {
        let hold = Hold(validUntil: moment + lockDuration)
        jobs.withLock { jobs in
            for job in leased { jobs[Lease(id: job.id, token: job.token)] = hold }
        }
    }

    func remove(_ ended: [LeasedJob]) {
        jobs.withLock { jobs in
            for job in ended { jobs[Lease(id: job.id, token: job.token)] = nil }
        }
    }

    /// Notes which of the leases whose renewal was asked for belong to somebody else by now; the others live on.
    /// - Parameter moment: before the renewal was asked for.
    func renewed(_ asked: [(id: String, token: String)], except lost: Set<String>, since moment: Instant) {
        jobs.withLock { jobs in
            for lease in asked {
                let key = Lease(id: lease.id, token: lease.token)
                if lost.contains(lease.id) {
                    jobs[key]?.isLost = true
                } else {
                    jobs[key]?.validUntil = moment + lockDuration
                }
            }
        }
    }

    func isLost(_ job: LeasedJob) -> Bool {
        let hold = jobs.withLock { $0[Lease(id: job.id, token: job.token)] }
        guard let hold else { return false }
        return hold.isLost || now() >= hold.validUntil
    }

    /// The leases whose locks are to be renewed. One that lapsed is among them: while nobody else took the job it is ours again.
    var held: [(id: String, token: String)] {
        jobs.withLock { jobs in jobs.compactMap { $0.value.isLost ? nil : (id: $0.key.id, token: $0.key.token) } }
    }
}
