import Kernel
import Synchronization

/// Chains that were verified a short while ago, by SHA-256(leaf ‖ intermediate): a path costs four signatures, a look-up none.
final class ChainCache: Sendable {
    private struct Entry {
        let chain: VerifiedChain
        let storedAt: Timestamp
        var usedAt: UInt64
    }

    private struct State {
        var entries: [[UInt8]: Entry] = [:]
        var uses: UInt64 = 0
    }

    private let capacity: Int
    private let lifetime: Duration
    private let state = Mutex(State())

    init(capacity: Int = 32, lifetime: Duration = .seconds(15 * 60)) {
        self.capacity = capacity
        self.lifetime = lifetime
    }

    static func key(leaf: [UInt8], intermediate: [UInt8]) -> [UInt8] { SHA256.hash(leaf + intermediate) }

    /// The chain, unless it was stored too long ago, or in the future of a clock that was set back.
    func chain(_ key: [UInt8], now: Timestamp) -> VerifiedChain? {
        state.withLock { state in
            guard var entry = state.entries[key] else { return nil }
            guard now >= entry.storedAt, now - entry.storedAt < lifetime else {
                state.entries[key] = nil
                return nil
            }
            state.uses += 1
            entry.usedAt = state.uses
            state.entries[key] = entry
            return entry.chain
        }
    }

    /// Keeps a chain; the one that was used longest ago goes when there are too many.
    func store(_ chain: VerifiedChain, key: [UInt8], now: Timestamp) {
        state.withLock { state in
            state.uses += 1
            state.entries[key] = Entry(chain: chain, storedAt: now, usedAt: state.uses)
            guard state.entries.count > capacity,
                let oldest = state.entries.min(by: { $0.value.usedAt < $1.value.usedAt })
            else { return }
            state.entries[oldest.key] = nil
        }
    }

    var count: Int { state.withLock { $0.entries.count } }
}
