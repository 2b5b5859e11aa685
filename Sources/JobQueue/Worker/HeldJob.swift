import Synchronization

/// A job that a worker holds, from the claim until it is let go of.
final class HeldJob: Sendable {
    let job: ClaimedJob
    /// In which period between two renewals it was claimed: a fresh lock needs no renewal.
    let period: Int
    private let lost = Atomic<Bool>(false)
    private let givenUp = Atomic<Bool>(false)

    init(_ job: ClaimedJob, period: Int) {
        self.job = job
        self.period = period
    }

    /// Whether another may hold the lock. Then nothing of this job is recorded any more.
    var isLost: Bool { lost.load(ordering: .relaxed) }

    func markLost() { lost.store(true, ordering: .relaxed) }

    /// Whether a stop took the job from its handler.
    var isGivenUp: Bool { givenUp.load(ordering: .relaxed) }

    func markGivenUp() { givenUp.store(true, ordering: .relaxed) }
}

/// How a job's run ended, before Redis knows of it.
struct EndedJob: Sendable {
    enum Ending: Sendable {
        case finished(FinishedJob.Result)
        case moved(MovedJob.Target, reason: String?, trace: String?)

        static let givenBack = Ending.moved(.waiting, reason: nil, trace: nil)
    }

    let held: HeldJob
    let ending: Ending
}
