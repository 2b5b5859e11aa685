import Kernel

/// How often a job may be started.
///
/// Outages of ours, deferrals and devices asked to slow down move a job without an attempt, up to a minute later each, for as long
/// as the message is welcome: an outage of hours is no reason to fail it. What the limit is for is a job that comes back at once,
/// over and over. So a start for every ten seconds since the message was due is allowed on top; moved by the engine's own waiting
/// times, a job never comes back as often as that for long.
struct StartLimit: Sendable {
    private static let pace = Duration.seconds(10)

    let limit: Int

    /// Whether a job was started more often than it should have been.
    /// - Parameter age: how long ago the message was due.
    func isExceeded(claims: Int, age: Duration) -> Bool {
        claims > limit + Int(clamping: max(0, age.milliseconds / Self.pace.milliseconds))
    }
}
