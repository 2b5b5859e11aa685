import HTTP2
import Kernel

/// What becomes of a push after FCM answered or failed, and what that says of the connection and the project.
struct FCMDecision: Sendable {
    var answer: AnswerDecision
    /// Nothing is sent for so long, because the project's quota is used up.
    var hold: Duration?
    /// For the operator, though nothing stops.
    var isAlarming = false
}

/// Turns answers and failures into decisions. Pure but for the randomness of waits; `FCMReason.table` holds what each answer
/// means.
struct FCMPolicy: Sendable {
    /// How long a push waits whose token was called bad while the breaker is open.
    static let breakerPause = Duration.seconds(300)

    let retryPause: Backoff
    let quotaPause: Backoff

    /// - Parameters:
    ///   - moves: how often this push was already sent again after an answer.
    ///   - breakerIsOpen: whether too many tokens are called bad to believe it.
    ///   - quotaHits: exceeded quotas in a row.
    ///   - renew: gives up the access token, called only for one that was refused.
    func decide(
        _ answer: FCMAnswer,
        moves: Int,
        breakerIsOpen: Bool,
        quotaHits: Int,
        renew: () -> AccessTokenSource.Renewal
    ) -> FCMDecision {
        let reason = answer.reason
        let rejected = PushOutcome.rejected(reason: reason, status: answer.status)
        switch answer.action {
        case .accept:
            return plain(.finish(.accepted(apnsID: answer.name, uniqueID: nil)), .proven)
        case .dead:
            return plain(.finish(.dead(reason: reason, at: nil)), .proven)
        case .deadOrMisconfigured:
            guard !breakerIsOpen else {
                return plain(.finish(.notSent(reason: "Breaker" + reason, after: Self.breakerPause)), .proven)
            }
            return plain(.finish(.dead(reason: reason, at: nil)), .proven)
        case .reject:
            return plain(.finish(rejected), .proven)
        case .rejectLoudly:
            return FCMDecision(answer: AnswerDecision(.finish(rejected), .proven), isAlarming: true)
        case .retry:
            let outcome = PushOutcome.retry(reason: reason, status: answer.status, after: retryWait(answer.retryAfter))
            return plain(.finish(outcome), .inconclusive)
        case .quota:
            let wait = quotaWait(answer.retryAfter, hits: quotaHits)
            var decision = plain(.finish(.throttled(reason: reason, after: wait)), .proven)
            if !answer.isQuotaOfTarget { decision.hold = wait }
            return decision
        case .renewToken:
            guard moves == 0, renew() == .renewed else {
                return stopped(reason)
            }
            return plain(.move(reason: reason), .recycle)
        case .stop:
            return stopped(reason)
        }
    }

    /// - Parameter startedAt: when the stream was opened.
    func decide(_ error: HTTP2Error, startedAt: ContinuousClock.Instant) -> FCMDecision {
        FCMDecision(answer: AnswerPolicy.decide(error, startedAt: startedAt))
    }

    private func plain(_ fate: AnswerDecision.Fate, _ news: PoolMachine.StreamNews) -> FCMDecision {
        FCMDecision(answer: AnswerDecision(fate, news))
    }

    private func stopped(_ reason: String) -> FCMDecision {
        let outcome = PushOutcome.notSent(reason: reason, after: nil)
        return FCMDecision(answer: AnswerDecision(.finish(outcome), .recycle, stop: reason))
    }

    /// Google's wish, but never sooner than its own rule allows.
    private func retryWait(_ wish: Duration?) -> Duration {
        var generator = SystemRandomNumberGenerator()
        return max(wish ?? .zero, retryPause.delay(attempt: 0, using: &generator))
    }

    private func quotaWait(_ wish: Duration?, hits: Int) -> Duration {
        if let wish { return max(wish, .seconds(1)) }
        var generator = SystemRandomNumberGenerator()
        return quotaPause.delay(attempt: hits, using: &generator)
    }
}
