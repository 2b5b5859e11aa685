package import Kernel
package import Observability
package import Signing
import Synchronization

/// The keys that verify access tokens: those of the configuration, and those that the issuer publishes and may change at any time.
///
/// Published keys are fetched ahead of their end, at once when a token names one that is not known, and never more often than the pause
/// allows. Many callers share one fetch. While the issuer does not answer, the last good set stays in use, for a bounded time.
package final class TokenKeys: Sendable {
    /// How published keys are kept.
    package struct Policy: Sendable {
        /// Between two fetches that unknown keys ask for, and after one that failed.
        package var pause = Duration.seconds(30)
        /// A set is kept at least so long, whatever the issuer says, and at most so long.
        package var shortest = Duration.seconds(300)
        package var longest = Duration.seconds(86_400)
        /// How long a set may still be used after it should have been renewed.
        package var stale = Duration.seconds(86_400)

        package init() {}
    }

    /// The answer of an issuer.
    package struct Published: Sendable {
        package let text: [UInt8]
        /// How long it says that the set may be kept.
        package let maxAge: Duration?

        package init(text: [UInt8], maxAge: Duration?) {
            self.text = text
            self.maxAge = maxAge
        }
    }

    /// What verifies now; the number changes with the keys.
    struct Current: Sendable {
        let verifier: JWTVerifier
        let generation: Int
    }

    private struct State {
        var current: Current?
        /// The digest of the set in use.
        var digest: [UInt8] = []
        var renewAt: Timestamp?
        var unusableAt: Timestamp?
        var lastAttempt: Timestamp?
        var hasFailed = false
        var fetch: Task<Bool, Never>?
    }

    private let fixed: [VerificationKey]
    private let rules: JWTVerifier.Rules
    private let policy: Policy
    private let clock: any WallClock
    private let fetch: (@Sendable () async throws -> Published)?
    private let logger: Logger
    private let metrics: MetricsRegistry
    private let state: Mutex<State>

    /// - Parameters:
    ///   - fixed: keys of the configuration; their ids go before published ones.
    ///   - fetch: gets the published set; `nil` where there is none.
    /// - Throws: `SigningError` when the fixed keys do not make a set.
    package init(
        fixed: [VerificationKey],
        rules: JWTVerifier.Rules,
        policy: Policy = Policy(),
        clock: any WallClock,
        telemetry: Telemetry,
        fetch: (@Sendable () async throws -> Published)? = nil
    ) throws(SigningError) {
        self.fixed = fixed
        self.rules = rules
        self.policy = policy
        self.clock = clock
        self.fetch = fetch
        logger = telemetry.logger
        metrics = telemetry.metrics
        let verifier = try JWTVerifier(keys: fixed, rules: rules)
        state = Mutex(State(current: fetch == nil ? Current(verifier: verifier, generation: 0) : nil))
    }

    /// Whether keys are published somewhere.
    package var arePublished: Bool { fetch != nil }

    /// The verifier to use, `nil` when the published keys were never had or are too old.
    func current(now: Timestamp) -> Current? {
        state.withLock { state in
            if let end = state.unusableAt, now >= end { return nil }
            return state.current
        }
    }

    /// Whether the issuer did not answer when it was asked last: what it publishes now is not known.
    var areUncertain: Bool { state.withLock { $0.hasFailed } }

    /// Whether there are keys to verify with, for readiness.
    package var areUsable: Bool { current(now: clock.now) != nil }

    /// Gets the published set unless the last attempt was too short a while ago. Whoever asks meanwhile waits for the same attempt.
    /// - Returns: whether there is a set younger than the question.
    func refresh() async -> Bool {
        guard let fetch else { return false }
        let now = clock.now
        let task: Task<Bool, Never>? = state.withLock { state in
            if let running = state.fetch { return running }
            if let last = state.lastAttempt, now < last + policy.pause, now >= last { return nil }
            state.lastAttempt = now
            let task = Task { await self.attempt(fetch) }
            state.fetch = task
            return task
        }
        return await task?.value ?? false
    }

    /// Keeps the published set fresh: gets it now, and again ahead of its end.
    /// - Parameter sleep: waits; answers `false` when it is time to end.
    package func keepFresh(_ sleep: (Duration) async -> Bool) async {
        guard fetch != nil else { return }
        repeat { if isDue(clock.now) { _ = await refresh() } } while await sleep(.seconds(5))
    }

    private func isDue(_ now: Timestamp) -> Bool {
        state.withLock { state in state.renewAt.map { now >= $0 } ?? true }
    }

    private func attempt(_ fetch: @Sendable () async throws -> Published) async -> Bool {
        var outcome = "failed"
        do {
            let published = try await fetch()
            let set = try JWKSet(parsing: published.text)
            outcome = try adopt(set, published) ? "changed" : "same"
            if set.ignored > 0 { logger.warning("published keys left out", ["count": .integer(set.ignored)]) }
        } catch {
            logger.warning("published keys not had", ["error": .error(error)])
        }
        state.withLock { state in
            state.fetch = nil
            state.hasFailed = outcome == "failed"
        }
        metrics.counter(
            "gateway_jwks_refresh_total",
            help: "Attempts to get the issuer's published keys, by outcome.",
            labels: [("outcome", outcome)]
        )
        .increment()
        return outcome != "failed"
    }

    /// - Returns: whether the keys are others than before.
    private func adopt(_ set: JWKSet, _ published: Published) throws -> Bool {
        let names = Set(fixed.compactMap(\.keyID))
        let others = set.keys.filter { key in key.keyID.map { !names.contains($0) } ?? true }
        let verifier = try JWTVerifier(keys: fixed + others, rules: rules)
        let digest = SHA256.hash(published.text)
        let now = clock.now
        let age = min(max(published.maxAge ?? policy.shortest, policy.shortest), policy.longest)
        return state.withLock { state in
            // Four fifths of the way, so that the new set is there before the old one ends.
            state.renewAt = now + age * 4 / 5
            state.unusableAt = now + age + policy.stale
            guard state.digest != digest else { return false }
            state.digest = digest
            state.current = Current(verifier: verifier, generation: (state.current?.generation ?? 0) + 1)
            return true
        }
    }
}
