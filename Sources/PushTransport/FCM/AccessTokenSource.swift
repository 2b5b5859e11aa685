import Kernel
import Synchronization

/// Keeps the access token of one account for all connections of the process: renewed five minutes early while the old one is
/// still served, by one request however many ask, with growing waits after failures.
///
/// Ages are measured on a monotonic clock from the moment a token was asked for.
final class AccessTokenSource: Sendable {
    /// How long before its end a token is renewed.
    static let earliness = Duration.seconds(300)
    /// A token refused below this age is not replaced: another one would be refused as well.
    static let minimumAge = Duration.seconds(60)

    /// What asking for another token after a refusal brought.
    enum Renewal: Equatable {
        /// The next `token()` is another one.
        case renewed
        /// The refused token is too young.
        case tooYoung
    }

    private struct State {
        var current: AccessToken?
        var askedAt: ContinuousClock.Instant?
        var goodUntil: ContinuousClock.Instant?
        var renewAt: ContinuousClock.Instant?
        var generation = 0
        var isAsking = false
        var waiters: [CheckedContinuation<Result<AccessToken, AccessTokenError>, Never>] = []
        var failures = 0
        var lastError: AccessTokenError?
        /// No request before this moment.
        var notBefore: ContinuousClock.Instant?
        var generator = SystemRandomNumberGenerator()
    }

    private let issuer: any AccessTokenIssuing
    private let backoff: Backoff
    private let now: @Sendable () -> ContinuousClock.Instant
    private let onAnswer: @Sendable (Result<Void, AccessTokenError>) -> Void
    private let state = Mutex(State())

    /// - Parameter onAnswer: told of every request's end, for logs, metrics and health.
    init(
        issuer: any AccessTokenIssuing,
        backoff: Backoff,
        now: @escaping @Sendable () -> ContinuousClock.Instant,
        onAnswer: @escaping @Sendable (Result<Void, AccessTokenError>) -> Void
    ) {
        self.issuer = issuer
        self.backoff = backoff
        self.now = now
        self.onAnswer = onAnswer
    }

    /// The token to send with, `nil` when there is none that is still good. Begins to renew one that is about to end.
    var current: AccessToken? {
        let moment = now()
        let (token, mustAsk) = state.withLock { state -> (AccessToken?, Bool) in
            let token = Self.good(state, moment)
            guard token != nil, let renewAt = state.renewAt, moment >= renewAt else { return (token, false) }
            return (token, Self.begin(&state, moment))
        }
        if mustAsk { ask() }
        return token
    }

    /// The token, asked for if there is none that is good.
    /// - Throws: the last failure, at once while the wait after it lasts.
    func token() async throws(AccessTokenError) -> AccessToken {
        if let token = current { return token }
        let result = await withCheckedContinuation { continuation in
            let moment = now()
            let (early, mustAsk) = state.withLock { state -> (Result<AccessToken, AccessTokenError>?, Bool) in
                if let token = Self.good(state, moment) { return (.success(token), false) }
                if !state.isAsking, let notBefore = state.notBefore, moment < notBefore, let error = state.lastError {
                    return (.failure(error), false)
                }
                state.waiters.append(continuation)
                return (nil, Self.begin(&state, moment))
            }
            if let early { continuation.resume(returning: early) }
            if mustAsk { ask() }
        }
        return try result.get()
    }

    /// Gives up a token that the server refused, if it still is the current one and old enough to have ended.
    func refuse(_ token: AccessToken) -> Renewal {
        let moment = now()
        return state.withLock { state in
            guard state.current == token else { return .renewed }
            if let askedAt = state.askedAt, moment - askedAt < Self.minimumAge { return .tooYoung }
            state.current = nil
            return .renewed
        }
    }

    private static func good(_ state: State, _ moment: ContinuousClock.Instant) -> AccessToken? {
        guard let token = state.current, let goodUntil = state.goodUntil, moment < goodUntil else { return nil }
        return token
    }

    /// - Returns: whether the caller is to ask.
    private static func begin(_ state: inout State, _ moment: ContinuousClock.Instant) -> Bool {
        guard !state.isAsking else { return false }
        if let notBefore = state.notBefore, moment < notBefore { return false }
        state.isAsking = true
        return true
    }

    /// The one request under way; its issuer bounds it in time.
    private func ask() {
        Task {
            let began = now()
            let result: Result<IssuedToken, AccessTokenError>
            do throws(AccessTokenError) {
                result = .success(try await issuer.issue())
            } catch {
                result = .failure(error)
            }
            answered(result, began)
        }
    }

    private func answered(_ result: Result<IssuedToken, AccessTokenError>, _ began: ContinuousClock.Instant) {
        let (waiters, answer) = state.withLock { state in
            state.isAsking = false
            defer { state.waiters = [] }
            switch result {
            case .success(let issued):
                state.generation += 1
                let token = AccessToken(header: "Bearer " + issued.text, generation: state.generation)
                state.current = token
                state.askedAt = began
                state.goodUntil = began + issued.lifetime
                // A short-lived token is renewed at half its life.
                state.renewAt = began + max(issued.lifetime - Self.earliness, issued.lifetime / 2)
                state.failures = 0
                state.notBefore = nil
                state.lastError = nil
                return (state.waiters, Result<AccessToken, AccessTokenError>.success(token))
            case .failure(let error):
                let wait = backoff.delay(attempt: state.failures, using: &state.generator)
                state.failures += 1
                state.notBefore = now() + wait
                state.lastError = error
                return (state.waiters, .failure(error))
            }
        }
        onAnswer(answer.map { _ in })
        for waiter in waiters { waiter.resume(returning: answer) }
    }
}
