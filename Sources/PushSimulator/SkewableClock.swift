package import Kernel
import Synchronization

/// A wall clock beside another one, ahead of it or behind by an amount that may change: Apple's clock as a provider whose own is
/// wrong finds it.
package final class SkewableClock: WallClock {
    private let base: any WallClock
    private let offset: Mutex<Duration>

    package init(_ base: any WallClock = SystemWallClock(), skew: Duration = .zero) {
        self.base = base
        offset = Mutex(skew)
    }

    package var now: Timestamp { base.now + offset.withLock { $0 } }

    /// How far it is ahead; negative when it is behind.
    package var skew: Duration {
        get { offset.withLock { $0 } }
        set { offset.withLock { $0 = newValue } }
    }
}
