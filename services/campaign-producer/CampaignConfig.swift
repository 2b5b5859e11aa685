import DeliveryAdapters
import ServiceRuntime

/// What the campaign producer is told by its environment.
struct CampaignConfig: Sendable {
    let platform: PlatformSettings
    /// With more jobs ready in the delivery queue than this, chunks wait.
    let highWater: Int
    /// How long a chunk of a dead producer stays locked.
    let lockDuration: Duration

    init(reading reader: ConfigReader) throws {
        let platform = try reader.part(PlatformSettings.init(reading:))
        highWater = reader.int("CAMPAIGN_HIGH_WATER", default: 200_000, in: 1000...10_000_000)
        lockDuration = reader.duration("QUEUE_LOCK_DURATION", default: .seconds(30), in: .seconds(1)...(.seconds(600)))
        try reader.finish()
        self.platform = try platform.value
    }
}
