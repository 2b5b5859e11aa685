package import Kernel
package import Notifications
package import Observability
package import Signing
import Synchronization

/// Proves users by their access tokens, and remembers a proven token for a short while, because a signature costs more than
/// the rest of a request.
///
/// The memory holds digests of tokens, is bounded, and forgets a token after a minute at the latest, so that a removed key
/// takes effect.
package final class AccessTokens: Sendable {
    private struct Entry {
        let user: UserID
        let validUntil: Timestamp
    }

    /// Two generations: the older one goes when the younger is full. A look-up moves an entry up.
    private struct Memory {
        var young: [[UInt8]: Entry] = [:]
        var old: [[UInt8]: Entry] = [:]
    }

    private let verifier: JWTVerifier
    private let clock: any WallClock
    private let capacity: Int
    private let memory = Mutex(Memory())
    private let logger: Logger
    private let refused: [JWTError.Code: Counter]
    private let hits: Counter
    private let misses: Counter

    /// - Parameter capacity: how many tokens are remembered at most.
    package init(verifier: JWTVerifier, clock: any WallClock, telemetry: Telemetry, capacity: Int = 20_000) {
        self.verifier = verifier
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

    /// The user whom the token belongs to.
    /// - Returns: `nil` for any token that is not acceptable; why is counted and logged, and never told.
    package func user(of token: String) -> UserID? {
        let now = clock.now
        let digest = SHA256.hash(token)
        if let user = remembered(digest, now: now) {
            hits.increment()
            return user
        }
        misses.increment()
        do {
            let claims = try verifier.verify(token, now: now)
            guard let user = UserID(claims.subject) else {
                refused[.subject]?.increment()
                return nil
            }
            remember(digest, Entry(user: user, validUntil: min(claims.expiresAt, now + .seconds(60))))
            return user
        } catch {
            refused[error.code]?.increment()
            logger.debug("access token refused", ["reason": .string(error.description)])
            return nil
        }
    }

    private func remembered(_ digest: [UInt8], now: Timestamp) -> UserID? {
        memory.withLock { memory in
            if let entry = memory.young[digest] { return entry.validUntil > now ? entry.user : nil }
            guard let entry = memory.old.removeValue(forKey: digest), entry.validUntil > now else { return nil }
            memory.young[digest] = entry
            return entry.user
        }
    }

    private func remember(_ digest: [UInt8], _ entry: Entry) {
        memory.withLock { memory in
            if memory.young.count >= capacity / 2 {
                memory.old = memory.young
                memory.young = [:]
            }
            memory.young[digest] = entry
        }
    }
}
