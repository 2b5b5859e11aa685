package import Kernel

/// What became of one push. `reason` is the provider's own word where it gave one.
package enum PushOutcome: Sendable, Equatable {
    /// The provider took it. `apnsID` is Apple's `apns-id` or Google's name of the message; `uniqueID` comes from Apple's
    /// development environment alone.
    case accepted(apnsID: String, uniqueID: String?)
    /// The device token is gone; `at` is the provider's own timestamp, if it gave one.
    case dead(reason: String, at: Timestamp?)
    /// Refused for good, the token stays. `status` is `nil` when we refused it ourselves and nothing was sent.
    case rejected(reason: String, status: Int?)
    /// An answered failure that may pass; `after` is the provider's wish.
    case retry(reason: String, status: Int, after: Duration?)
    /// This device token is asked to slow down.
    case throttled(reason: String, after: Duration?)
    /// No answer came: the provider may have accepted it.
    case unknown(reason: String)
    /// It provably was not processed: an outage or a configuration of ours, not the token's or the payload's fault.
    case notSent(reason: String, after: Duration?)
}
