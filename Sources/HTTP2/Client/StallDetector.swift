import Kernel

/// Decides when a silent connection is asked for a sign of life and when it is dead. Pure: the time comes from outside.
///
/// Silence counts from the last frame, or from the first request after it. That requests time out meanwhile changes nothing:
/// otherwise a dead connection with short request timeouts would never be found out.
struct StallDetector {
    enum Verdict: Equatable {
        case wait(until: MonotonicTime)
        case sendPing
        case dead
    }

    let stallAfter: Duration
    let pingTimeout: Duration
    let idlePingAfter: Duration

    private var lastFrame: MonotonicTime
    private var awaitingSince: MonotonicTime?
    private var pingDeadline: MonotonicTime?

    init(options: HTTP2ClientOptions, now: MonotonicTime) {
        stallAfter = options.stallAfter
        pingTimeout = options.stallPingTimeout
        idlePingAfter = options.idlePingAfter
        lastFrame = now
    }

    /// A request went out.
    mutating func requestSent(now: MonotonicTime) {
        if awaitingSince == nil { awaitingSince = now }
    }

    /// The peer sent a frame of any kind.
    mutating func frameReceived(now: MonotonicTime, streamsOpen: Bool) {
        lastFrame = now
        awaitingSince = streamsOpen ? now : nil
        pingDeadline = nil
    }

    /// What is to be done now. After `sendPing` the caller sends one.
    mutating func check(now: MonotonicTime) -> Verdict {
        if let pingDeadline { return now >= pingDeadline ? .dead : .wait(until: pingDeadline) }
        let due = awaitingSince.map { $0 + stallAfter } ?? (lastFrame + idlePingAfter)
        guard now >= due else { return .wait(until: due) }
        pingDeadline = now + pingTimeout
        return .sendPing
    }
}
