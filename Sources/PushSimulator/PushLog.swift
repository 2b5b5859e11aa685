import Kernel
import Synchronization

/// Remembers accepted pushes and counts everything. A ring of bounded size: the oldest records leave first, the counts stay.
final class PushLog: Sendable {
    /// The counts since the start or the last `clear`.
    struct Counts: Sendable {
        var accepted = 0
        /// Accepted pushes whose (apns-id, token) had been accepted before.
        var duplicates = 0
        /// Whether every pair could be remembered, so that `duplicates` is exact.
        var duplicatesAreExact = true
        /// Refused pushes by reason.
        var refused: [String: Int] = [:]
        /// Accepted pushes that a fault left without an answer.
        var unanswered = 0
    }

    private struct State {
        var counts = Counts()
        var ring: [RecordedPush] = []
        /// Where the next record goes once the ring is full.
        var next = 0
        var seen: Set<UUIDBits> = []
    }

    private let recordLimit: Int
    private let duplicateLimit: Int
    private let state = Mutex(State())

    init(recordLimit: Int, duplicateLimit: Int) {
        self.recordLimit = max(recordLimit, 0)
        self.duplicateLimit = max(duplicateLimit, 0)
    }

    func record(_ push: RecordedPush, answered: Bool) {
        let pair = Self.pair(push)
        state.withLock { state in
            state.counts.accepted += 1
            if !answered { state.counts.unanswered += 1 }
            if state.seen.contains(pair) {
                state.counts.duplicates += 1
            } else if state.seen.count < duplicateLimit {
                state.seen.insert(pair)
            } else {
                state.counts.duplicatesAreExact = false
            }
            guard recordLimit > 0 else { return }
            if state.ring.count < recordLimit {
                state.ring.append(push)
            } else {
                state.ring[state.next] = push
                state.next = (state.next + 1) % recordLimit
            }
        }
    }

    func refuse(reason: String) {
        // Faults may name any reason, so the table of reasons is bounded.
        state.withLock { state in
            let key = state.counts.refused.count < 100 || state.counts.refused[reason] != nil ? reason : "other"
            state.counts.refused[key, default: 0] += 1
        }
    }

    var counts: Counts { state.withLock { $0.counts } }

    /// The newest records first.
    /// - Parameter token: only pushes to this device token.
    func pushes(token: String? = nil, limit: Int) -> [RecordedPush] {
        let (ring, next) = state.withLock { ($0.ring, $0.next) }
        var found: [RecordedPush] = []
        for offset in 0..<ring.count where found.count < limit {
            let index = (next + ring.count - 1 - offset) % ring.count
            if token == nil || ring[index].deviceToken == token { found.append(ring[index]) }
        }
        return found
    }

    func clear() {
        state.withLock { $0 = State() }
    }

    /// A 128-bit stand-in for (apns-id, token): the id mixed with two hashes of the token. Two tokens with one id meet by
    /// chance about once in 2^64 pairs.
    private static func pair(_ push: RecordedPush) -> UUIDBits {
        var first: UInt64 = 0xCBF2_9CE4_8422_2325
        var second: UInt64 = 0x9E37_79B9_7F4A_7C15
        for byte in push.deviceToken.utf8 {
            first = (first ^ UInt64(byte)) &* 0x100_0000_01B3
            second = (second &+ UInt64(byte)) &* 0xD6E8_FEB8_6659_FD93
            second ^= second >> 32
        }
        return UUIDBits(high: push.apnsID.high ^ first, low: push.apnsID.low ^ second)
    }
}
