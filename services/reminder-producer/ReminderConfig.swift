import DeliveryAdapters
import ServiceRuntime

/// What the reminder producer is told by its environment: the servers, the queue and the app's name.
struct ReminderConfig: Sendable {
    let platform: PlatformSettings

    init(reading reader: ConfigReader) throws {
        let platform = try reader.part(PlatformSettings.init(reading:))
        try reader.finish()
        self.platform = try platform.value
    }
}
