import Kernel

/// Decides when a silent connection is asked for a sign of life and when it is dead. Pure: the time comes from outside.
///
/// Silence counts from the last frame, or from the first request after it. That requests time out meanwhile changes nothing:
/// otherwise a dead connection with short request timeouts would never be found out. A peer that answers PING but none of
/// its requests is found out by `answerAfter`, where the owner sets it.
struct StallDetector {
    enum Verdict: Equatable {
        case wait(until: MonotonicTime)
        case sendPing
        /// The peer gives no sign of life.
        case dead
        /// The peer lives, but has long answered none of its open requests.
        case unresponsive
    }

    let stallAfter: Duration
    let pingTimeout: Duration
    let idlePingAfter: Duration
    let answerAfter: Duration?

    private var lastFrame: MonotonicTime
    private var awaitingSince: MonotonicTime?
    private var pingDeadline: MonotonicTime?
    /// The last step of any answer, or the first request after all were answered.
    private var unansweredSince: MonotonicTime?

    init(options: HTTP2ClientOptions, now: MonotonicTime) {
        stallAfter = options.stallAfter
        pingTimeout = options.stallPingTimeout
        idlePingAfter = options.idlePingAfter
        answerAfter = options.answerAfter
        lastFrame = now
    }

    /// A request went out.
    mutating func requestSent(now: MonotonicTime) {
        if awaitingSince == nil { awaitingSince = now }
        if unansweredSince == nil { unansweredSince = now }
    }

    /// The peer sent a frame of any kind.
    mutating func frameReceived(now: MonotonicTime, streamsOpen: Bool) {
        lastFrame = now
        awaitingSince = streamsOpen ? now : nil
        pingDeadline = nil
    }

    /// The peer went on with an answer: HEADERS, DATA or the end of a stream.
    mutating func answerProgressed(now: MonotonicTime, streamsOpen: Bool) {
        unansweredSince = streamsOpen ? now : nil
    }

    /// What is to be done now. After `sendPing` the caller sends one.
    mutating func check(now: MonotonicTime) -> Verdict {
        var due: MonotonicTime?
        if let answerAfter, let unansweredSince {
            let limit = unansweredSince + answerAfter
            if now >= limit { return .unresponsive }
            due = limit
        }
        if let pingDeadline {
            return now >= pingDeadline ? .dead : .wait(until: min(pingDeadline, due ?? pingDeadline))
        }
        let pingDue = awaitingSince.map { $0 + stallAfter } ?? (lastFrame + idlePingAfter)
        guard now >= pingDue else { return .wait(until: min(pingDue, due ?? pingDue)) }
        pingDeadline = now + pingTimeout
        return .sendPing
    }
}
