/// Exponential waiting time with full jitter over the upper half: between half of the step and the step.
package struct Backoff: Sendable, Equatable {
    /// The first step.
    package let base: Duration
    /// No step is longer than this.
    package let limit: Duration

    package init(base: Duration, limit: Duration) {
        self.base = base
        self.limit = limit
    }

    /// The waiting time before attempt number `attempt`, 0 for the first.
    package func delay(attempt: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        let exponent = min(max(attempt, 0), 30)
        let step = min(base.milliseconds << Int64(exponent), limit.milliseconds)
        guard step > 1 else { return .milliseconds(max(step, 0)) }
        return .milliseconds(Int64.random(in: (step / 2)...step, using: &generator))
    }
}
