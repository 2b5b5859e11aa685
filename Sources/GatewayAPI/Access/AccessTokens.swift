package import Kernel
package import Notifications
package import Observability
import Signing
import Synchronization

/// Proves users by their access tokens, and remembers a proven token for a short while, because a signature costs more than
/// the rest of a request.
///
/// The memory holds digests of tokens, never a refusal, and is bounded. It forgets a token at its end, after a minute at the latest,
/// and at once when the keys change, so that a removed key takes effect.
package final class AccessTokens: Sendable {
    private struct Entry {
        let user: UserID
        let validUntil: Timestamp
        /// Of the keys that proved it.
        let generation: Int
    }

    /// What a token turned out to be.
    enum Verdict: Equatable {
        case user(UserID)
        case refused(JWTError.Code)
        /// Names a key that is not known; the issuer may have published it since.
        case unknownKey
        /// There are no keys to judge it with.
        case noKeys
    }

    /// Two generations: the older one goes when the younger is full. A look-up moves an entry up.
    private struct Memory {
        var young: [[UInt8]: Entry] = [:]
        var old: [[UInt8]: Entry] = [:]
    }

    private let keys: TokenKeys
    private let clock: any WallClock
    private let capacity: Int
    private let memory = Mutex(Memory())
    private let logger: Logger
    private let refused: [JWTError.Code: Counter]
    private let hits: Counter
    private let misses: Counter

    /// - Parameter capacity: how many tokens are remembered at most.
    package init(keys: TokenKeys, clock: any WallClock, telemetry: Telemetry, capacity: Int = 20_000) {
        self.keys = keys
        self.clock = clock
        self.capacity = capacity
        logger = telemetry.logger
        let metrics = telemetry.metrics
        var refused: [JWTError.Code: Counter] = [:]
        for code in JWTError.Code.allCases {
            refused[code] = metrics.counter(
                "gateway_access_tokens_refused_total",
                help: "Access tokens refused, by reason.",
                labels: [("reason", code.rawValue)]
            )
        }
        self.refused = refused
        let help = "Look-ups of access tokens in the memory of proven ones."
        hits = metrics.counter("gateway_access_token_cache_total", help: help, labels: [("result", "hit")])
        misses = metrics.counter("gateway_access_token_cache_total", help: help, labels: [("result", "miss")])
    }

    /// The user whom the token belongs to. Where it names an unknown key, the issuer is asked for its keys, if that was not done a
    /// moment ago.
    /// - Returns: `nil` for any token that is not acceptable; why is counted and logged, and never told.
    /// - Throws: `Unavailable` when there are no keys to judge it with, or it names an unknown one and the issuer cannot be asked.
    package func user(of token: String) async throws(Unavailable) -> UserID? {
        var verdict = verdict(on: token)
        if keys.arePublished, verdict == .unknownKey || verdict == .noKeys, await keys.refresh() {
            verdict = self.verdict(on: token)
        }
        switch verdict {
        case .user(let user): return user
        case .refused(let code):
            count(code)
            return nil
        case .unknownKey:
            if keys.areUncertain {
                throw Unavailable(
                    dependency: "jwks",
                    reason: "the issuer was not reached, and may have published the key"
                )
            }
            count(.unknownKey)
            return nil
        case .noKeys: throw Unavailable(dependency: "jwks", reason: "the issuer's keys were never had, or are too old")
        }
    }

    /// Notes that a caller was turned away. Judging counts nothing, because one request may be judged several times.
    func count(_ reason: JWTError.Code) { refused[reason]?.increment() }

    /// Judges a token by the keys at hand.
    func verdict(on token: String) -> Verdict {
        let now = clock.now
        guard let current = keys.current(now: now) else { return .noKeys }
        let digest = SHA256.hash(token)
        if let user = remembered(digest, now: now, generation: current.generation) {
            hits.increment()
            return .user(user)
        }
        misses.increment()
        do {
            let claims = try current.verifier.verify(token, now: now)
            guard let user = UserID(claims.subject) else { return .refused(.subject) }
            let end = min(claims.expiresAt, now + .seconds(60))
            remember(digest, Entry(user: user, validUntil: end, generation: current.generation))
            return .user(user)
        } catch {
            logger.debug("access token refused", ["reason": .string(error.description)])
            return error.code == .unknownKey && keys.arePublished ? .unknownKey : .refused(error.code)
        }
    }

    /// Tokens that are remembered.
    package var remembered: Int { memory.withLock { $0.young.count + $0.old.count } }

    private func remembered(_ digest: [UInt8], now: Timestamp, generation: Int) -> UserID? {
        memory.withLock { memory in
            guard let entry = memory.young[digest] ?? memory.old.removeValue(forKey: digest) else { return nil }
            guard entry.validUntil > now, entry.generation == generation else {
                memory.young[digest] = nil
                return nil
            }
            if memory.young[digest] == nil { keep(digest, entry, in: &memory) }
            return entry.user
        }
    }

    private func remember(_ digest: [UInt8], _ entry: Entry) {
        memory.withLock { keep(digest, entry, in: &$0) }
    }

    private func keep(_ digest: [UInt8], _ entry: Entry, in memory: inout Memory) {
        if memory.young.count >= max(1, capacity / 2) {
            memory.old = memory.young
            memory.young = [:]
        }
        memory.young[digest] = entry
    }
}
