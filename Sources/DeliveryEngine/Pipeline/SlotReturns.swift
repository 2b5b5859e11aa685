import Kernel
import Observability
import Synchronization

/// Frees weekly slots. When the caps cannot be asked it keeps the slots to be freed and tries again beside the pipeline, so that
/// caps that are away hold up no push.
final class SlotReturns: Sendable {
    /// More than this is not kept: those slots stay taken until their week ends, which errs on the quiet side.
    private static let limit = 10_000
    private static let pause = Duration.seconds(5)
    private static let groupSize = 256

    private let caps: any CapTaking
    private let clock: any Clock<Duration>
    private let telemetry: Telemetry
    private let failures: Counter
    private let kept = Mutex<[CapClaim]>([])

    init(caps: any CapTaking, clock: any Clock<Duration>, telemetry: Telemetry, failures: Counter) {
        self.caps = caps
        self.clock = clock
        self.telemetry = telemetry
        self.failures = failures
    }

    /// Slots that wait to be freed.
    var waiting: Int { kept.withLock { $0.count } }

    /// Frees slots now, or later when the caps do not answer. Freeing twice is harmless.
    func giveBack(_ claims: [CapClaim]) async {
        guard !claims.isEmpty, await !tryOnce(claims) else { return }
        let dropped = kept.withLock { kept in
            let room = max(0, Self.limit - kept.count)
            kept += claims.prefix(room)
            return claims.count - min(room, claims.count)
        }
        if dropped > 0 {
            telemetry.logger.error("slots stay taken until their week ends", ["slots": .integer(dropped)])
        }
    }

    /// Tries what is kept again every few seconds, until cancelled; then once more.
    func run() async {
        while !Task.isCancelled {
            // A cancelled sleep is the sign to try for the last time.
            try? await clock.sleep(for: Self.pause)
            await retry()
        }
    }

    private func retry() async {
        while true {
            let group = kept.withLock { kept in
                let group = Array(kept.prefix(Self.groupSize))
                kept.removeFirst(group.count)
                return group
            }
            if group.isEmpty { return }
            guard await tryOnce(group) else {
                kept.withLock { $0 = group + $0 }
                return
            }
        }
    }

    private func tryOnce(_ claims: [CapClaim]) async -> Bool {
        do {
            try await caps.giveBack(claims)
            return true
        } catch {
            failures.increment()
            telemetry.logger.warning(
                "slots could not be freed yet",
                ["slots": .integer(claims.count), "error": .error(error)]
            )
            return false
        }
    }
}
