import Glibc
package import Kernel

/// What becomes of a job after a failed attempt, by the options its producer gave.
///
/// Options come from strangers: whatever cannot be understood counts as not given.
package struct RetryPolicy: Sendable {
    package enum Decision: Sendable, Equatable {
        /// The attempts are used up.
        case fail
        /// Again at once, behind those that wait already.
        case retry
        case retryAfter(Duration)
    }

    /// No backoff is longer than this, whatever the options say.
    package let longestBackoff: Duration
    /// A number from 0 to below 1, for the jitter.
    private let random: @Sendable () -> Double

    package init(
        longestBackoff: Duration = .seconds(86_400),
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) {
        self.longestBackoff = longestBackoff
        self.random = random
    }

    /// - Parameter attemptsMade: attempts counted before this one.
    package func decide(options: JSONValue, attemptsMade: Int) -> Decision {
        let attempts = options["attempts"].flatMap(Self.number) ?? 0
        let made = max(attemptsMade, 0) + 1
        guard Double(made) < attempts else { return .fail }
        guard let backoff = options["backoff"] else { return .retry }
        let delay = milliseconds(of: backoff, attempt: made)
        if delay < 0 { return .fail }
        return delay >= 1 ? .retryAfter(.milliseconds(Int64(delay))) : .retry
    }

    /// The waiting time after an attempt, the first being 1; negative when the options ask for no more attempts.
    private func milliseconds(of backoff: JSONValue, attempt: Int) -> Double {
        // A bare number means a fixed delay; BullMQ's producers write that out, others may not.
        guard let base = Self.number(backoff) ?? backoff["delay"].flatMap(Self.number) else { return 0 }
        if base < 0 { return base }
        // An unknown type stands for a function of the producer's own worker, which nobody else has: fixed is closest.
        let step = backoff["type"]?.stringValue == "exponential" ? (exp2(Double(attempt - 1)) * base).rounded() : base
        let limited = min(step, Double(longestBackoff.milliseconds))
        let jitter = min(max(backoff["jitter"].flatMap(Self.number) ?? 0, 0), 1)
        guard jitter > 0 else { return limited.rounded(.down) }
        return (random() * limited * jitter + limited * (1 - jitter)).rounded(.down)
    }

    private static func number(_ value: JSONValue) -> Double? {
        guard case .number(let number) = value, let double = number.double, double.isFinite else { return nil }
        return double
    }
}
