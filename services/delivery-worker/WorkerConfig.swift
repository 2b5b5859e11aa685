import DeliveryAdapters
import ServiceRuntime

/// What a delivery worker is told by its environment.
struct WorkerConfig: Sendable {
    let platform: PlatformSettings
    let apns: APNsSettings
    let fcm: FCMSettings
    /// Whether jobs that foreign producers wrote may carry their own words.
    let acceptsLiteralJobs: Bool
    /// Whether pushes carry the number of unread messages for the app's icon.
    let countsUnread: Bool
    /// Jobs held at once; bounds memory.
    let maxInFlight: Int
    /// How long a job of a dead worker stays locked.
    let lockDuration: Duration
    /// Shown by dashboards as the name of the worker.
    let workerName: String
    /// Where a test ends this process.
    let crash: CrashPoint?

    init(reading reader: ConfigReader) throws {
        let platform = try reader.part(PlatformSettings.init(reading:))
        let apns = try reader.part(APNsSettings.init(reading:))
        let fcm = try reader.part(FCMSettings.init(reading:))
        acceptsLiteralJobs = reader.bool("ACCEPT_LITERAL_JOBS", default: true)
        countsUnread = reader.bool("PUSH_BADGE", default: false)
        maxInFlight = reader.int("MAX_IN_FLIGHT", default: 2048, in: 1...65_536)
        lockDuration = reader.duration("QUEUE_LOCK_DURATION", default: .seconds(30), in: .seconds(1)...(.seconds(600)))
        workerName = reader.string("WORKER_NAME", default: "varsel")
        crash = reader.optional("VARSEL_CRASH_AT", "Set CHECKPOINT:COUNT, in tests only.") { try CrashPoint($0) }
        try reader.finish()
        self.platform = try platform.value
        self.apns = try apns.value
        self.fcm = try fcm.value
    }
}
