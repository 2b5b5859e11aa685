import Kernel
import Notifications
import Synchronization

/// The machine's clock, never showing the same millisecond twice, so that ids made one after another sort so.
final class SteppingClock: WallClock {
    private let last = Mutex(Timestamp(milliseconds: 0))

    var now: Timestamp {
        last.withLock { last in
            last = max(SystemWallClock().now, last + .milliseconds(1))
            return last
        }
    }
}

extension MessageIDGenerator {
    /// Ids in the order in which they were made.
    static var inOrder: MessageIDGenerator { MessageIDGenerator(clock: SteppingClock()) }
}
