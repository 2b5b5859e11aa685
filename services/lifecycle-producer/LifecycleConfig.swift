import DeliveryAdapters
import Producers
import ServiceRuntime

/// What the lifecycle producer is told by its environment.
struct LifecycleConfig: Sendable {
    let platform: PlatformSettings
    let appStore: AppStoreSettings
    let tiers: ProductTiers
    /// How often ending subscriptions are looked for.
    let sweepInterval: Duration
    /// How long a job of a dead process stays locked.
    let lockDuration: Duration
    /// Where a test ends this process.
    let crash: CrashPoint?

    init(reading reader: ConfigReader) throws {
        let platform = try reader.part(PlatformSettings.init(reading:))
        let appStore = try reader.part(AppStoreSettings.init(reading:))
        let tiers = try reader.part(ProductTiers.init(reading:))
        sweepInterval = reader.duration(
            "LIFECYCLE_SWEEP_INTERVAL",
            default: .seconds(900),
            in: .seconds(1)...(.seconds(3600))
        )
        lockDuration = reader.duration("QUEUE_LOCK_DURATION", default: .seconds(30), in: .seconds(1)...(.seconds(600)))
        crash = reader.optional("VARSEL_CRASH_AT", "Set CHECKPOINT:COUNT, in tests only.") { try CrashPoint($0) }
        try reader.finish()
        self.platform = try platform.value
        self.appStore = try appStore.value
        self.tiers = try tiers.value
    }
}
