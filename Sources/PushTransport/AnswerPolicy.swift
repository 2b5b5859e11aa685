import HTTP2
import Kernel

/// What becomes of a push after its stream ended, and what the end says of the connection.
struct AnswerDecision: Sendable {
    enum Fate: Sendable, Equatable {
        case finish(PushOutcome)
        /// Send again in place; the reason is told should that happen too often.
        case resend(reason: String)
        /// As `resend`, after an answer: once per push.
        case move(reason: String)
    }

    var fate: Fate
    var news: PoolMachine.StreamNews
    /// The whole pool is to stop for this reason.
    var stop: String?
    /// The push's topic is to stop for this reason.
    var stopTopic: String?

    init(_ fate: Fate, _ news: PoolMachine.StreamNews, stop: String? = nil, stopTopic: String? = nil) {
        self.fate = fate
        self.news = news
        self.stop = stop
        self.stopTopic = stopTopic
    }
}

/// Turns answers and failures into decisions. Pure; `APNsReason.table` holds what each answer means.
enum AnswerPolicy {
    /// How long a push waits when its topic may not be sent to.
    static let topicPause = Duration.seconds(300)
    /// How long a push waits whose token was called bad while the breaker is open.
    static let breakerPause = Duration.seconds(300)

    /// - Parameters:
    ///   - moves: how often this push was already sent again after an answer.
    ///   - breakerIsOpen: whether too many tokens are called bad to believe it.
    ///   - renew: asks for a new provider token, called only for an expired one.
    static func decide(
        _ answer: APNsAnswer,
        moves: Int,
        breakerIsOpen: Bool,
        renew: () -> ProviderTokenSource.Renewal
    ) -> AnswerDecision {
        let reason = answer.reason
        let paused = PushOutcome.notSent(reason: reason, after: nil)
        switch answer.action {
        case .accept:
            return AnswerDecision(.finish(.accepted(apnsID: answer.apnsID, uniqueID: answer.uniqueID)), .proven)
        case .dead:
            return AnswerDecision(.finish(.dead(reason: reason, at: answer.timestamp)), .proven)
        case .deadOrMisconfigured:
            guard !breakerIsOpen else {
                return AnswerDecision(.finish(.notSent(reason: "Breaker" + reason, after: breakerPause)), .proven)
            }
            return AnswerDecision(.finish(.dead(reason: reason, at: answer.timestamp)), .proven)
        case .reject:
            return AnswerDecision(.finish(.rejected(reason: reason, status: answer.status)), .proven)
        case .retry:
            let outcome = PushOutcome.retry(reason: reason, status: answer.status, after: answer.retryAfter)
            return AnswerDecision(.finish(outcome), .inconclusive)
        case .retryElsewhere:
            let outcome = PushOutcome.retry(reason: reason, status: answer.status, after: answer.retryAfter)
            return AnswerDecision(.finish(outcome), .recycle)
        case .throttle:
            return AnswerDecision(.finish(.throttled(reason: reason, after: answer.retryAfter)), .proven)
        case .resendElsewhere:
            guard moves == 0 else { return AnswerDecision(.finish(paused), .recycle, stop: reason) }
            return AnswerDecision(.move(reason: reason), .recycle)
        case .resendElsewhereOrStopTopic:
            guard moves == 0 else {
                let outcome = PushOutcome.notSent(reason: reason, after: topicPause)
                return AnswerDecision(.finish(outcome), .recycle, stopTopic: reason)
            }
            return AnswerDecision(.move(reason: reason), .recycle)
        case .renewToken:
            guard moves == 0, renew() == .renewed else {
                return AnswerDecision(.finish(paused), .recycle, stop: reason)
            }
            return AnswerDecision(.move(reason: reason), .recycle)
        case .stop:
            return AnswerDecision(.finish(paused), .recycle, stop: reason)
        case .stopTopic:
            let outcome = PushOutcome.notSent(reason: reason, after: topicPause)
            return AnswerDecision(.finish(outcome), .proven, stopTopic: reason)
        }
    }

    /// - Parameter startedAt: when the stream was opened.
    static func decide(_ error: HTTP2Error, startedAt: ContinuousClock.Instant) -> AnswerDecision {
        let reason = error.code.rawValue
        // A header that HTTP/2 cannot carry, such as a topic with a line break: no repetition mends it.
        if error.code == .invalidRequest {
            return AnswerDecision(.finish(.rejected(reason: reason, status: nil)), .inconclusive)
        }
        let news: PoolMachine.StreamNews =
            switch error.code {
            case .refusedStream, .tooManyStreams, .queueFull: .refused
            case .timeout: .timedOut(since: startedAt)
            case .streamReset, .responseTooLarge, .malformedResponse, .cancelled, .invalidRequest: .inconclusive
            default: .lost
            }
        switch error.wasProcessed {
        case .no: return AnswerDecision(.resend(reason: reason), news)
        case .unknown: return AnswerDecision(.finish(.unknown(reason: reason)), news)
        }
    }
}
