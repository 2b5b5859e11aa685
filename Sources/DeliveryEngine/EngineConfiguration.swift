/// The engine's numbers.
package struct EngineConfiguration: Sendable {
    /// Jobs claimed, judged and written at once.
    package var groupSize = 256
    /// Jobs held at once; bounds memory and is the back pressure on claiming.
    package var maxInFlight = 2048
    /// The share of `maxInFlight` that only jobs of the plain list may use, so that campaigns cannot crowd out notices.
    package var reservedShare = 0.1
    /// Results recorded at once.
    package var recordGroupSize = 256
    /// How long a result waits for company.
    package var recordDelay = Duration.milliseconds(10)
    /// Answered attempts per device; `opts.attempts` above 1 overrides it.
    package var attemptsPerDevice = 5
    /// Claims of one job after which it fails, beyond those that waiting explains (`StartLimit`).
    package var claimLimit = 100
    /// The weekly cap over all categories that count toward it.
    package var globalWeeklyCap = 4
    /// How long a lock lives that is not renewed.
    package var lockDuration = Duration.seconds(30)
    /// How often locks are renewed; a quarter of the lock's 30 s.
    package var lockRenewal = Duration.milliseconds(7500)
    /// How often jobs of dead workers are looked for.
    package var stalledCheck = Duration.seconds(15)
    /// How often slots of uncounted messages are looked for.
    package var uncountedCheck = Duration.seconds(10)
    /// How often rows whose job is gone are looked for.
    package var lostCheck = Duration.seconds(600)
    /// Recipients older than this are read again before a send.
    package var recipientsMaxAge = Duration.seconds(30)
    /// How long a record or an ending is tried again while its server is away.
    package var outagePatience = Duration.seconds(60)

    package init() {}
}
