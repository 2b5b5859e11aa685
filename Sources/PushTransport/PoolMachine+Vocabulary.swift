import Kernel

/// What a pool of connections is bounded by, what it is told, and what it wants done.
extension PoolMachine {
    struct Limits: Sendable {
        var lanes = 1
        /// Streams a connection carries at most, whatever the peer allows.
        var streams = 1000
        /// Bytes of bodies a connection carries at most; one push is always allowed.
        var bytes = 4 * 1024 * 1024
        /// Pushes that may wait for a stream.
        var waiting = 20_000
        /// Bytes of bodies that may wait for a stream.
        var waitingBytes = 32 * 1024 * 1024
        /// How long a push may wait for a stream.
        var waitingTime = Duration.seconds(30)
        /// How often one push is sent again in place.
        var resends = 5
        /// A connection that lived shorter counts as a failure for the back-off.
        var shortLife = Duration.seconds(10)
        /// A connection is replaced at about this age, a quarter sooner or later; `nil` for never.
        var lifetime: Duration?
        /// Pushes a second on one connection; `nil` for as many as the peer takes.
        var pace: Int?
        var reconnect = Backoff(base: .seconds(1), limit: .seconds(60))
        /// The pause after an answer that says our account or configuration is at fault.
        var pause = Backoff(base: .seconds(30), limit: .seconds(600))
    }

    enum Action: Sendable {
        case connect(lane: Int, generation: Int, after: Duration)
        case dispatch(PendingPush, lane: Int, generation: Int)
        case finish(PendingPush, PushOutcome)
        /// Close the connection; with `drain` its open streams may still be answered.
        case retire(lane: Int, generation: Int, drain: Bool)
        /// Call `expireWaiting` after this time.
        case wake(after: Duration)
        /// Call `paced` after this time.
        case pace(after: Duration)
    }

    /// What the end of a stream says about its connection.
    enum StreamNews: Sendable, Equatable {
        /// The provider answered and accepts our token.
        case proven
        /// The provider answered, which proves nothing about the token.
        case inconclusive
        /// The stream was refused before it was processed.
        case refused
        /// No answer in time; the request was started at this moment.
        case timedOut(since: ContinuousClock.Instant)
        /// The connection is gone or going.
        case lost
        /// The provider asks for another connection.
        case recycle
    }
}
