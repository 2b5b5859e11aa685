import Kernel

/// When a message is tried again.
///
/// Apple advises to come back after a server error in 15 minutes; three quick tries before that carry most messages over a
/// short disturbance.
package struct AttemptPolicy: Sendable {
    /// Answered attempts per device.
    package let limit: Int

    /// Waiting time for what does not count as an attempt: outages of ours and devices asked to slow down.
    static let outage = Backoff(base: .seconds(2), limit: .seconds(60))

    package init(limit: Int) {
        self.limit = limit
    }

    /// The waiting time after the attempt number `attempts` failed with an answer, 1 for the first.
    package func delay(afterAttempts attempts: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        if attempts <= 3 { return .milliseconds(Int64.random(in: 1000...5000, using: &generator)) }
        let jitter = Int64.random(in: 0...60_000, using: &generator)
        return .seconds(15 * 60) + .milliseconds(jitter)
    }

    /// The waiting time when nothing was counted, by the number of times the job was claimed.
    package func outageDelay(claims: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        max(.seconds(1), Self.outage.delay(attempt: claims - 1, using: &generator))
    }
}
