import DeliveryAdapters
import ServiceRuntime

/// What the reminder producer is told by its environment: the servers, the queue and the app's name.
struct ReminderConfig: Sendable {
    let platform: PlatformSettings
    /// Where a run leaves its metrics, `nil` for nowhere.
    let metricsFile: String?

    init(reading reader: ConfigReader) throws {
        let platform = try reader.part(PlatformSettings.init(reading:))
        metricsFile = reader.optional(
            "METRICS_TEXTFILE",
            "Name a file in the textfile collector's folder, by its whole path, with the ending .prom."
        ) { text in
            guard text.hasPrefix("/"), text.hasSuffix(".prom") else { throw NoMetricsFile() }
            return text
        }
        try reader.finish()
        self.platform = try platform.value
    }
}

/// A name that no textfile collector would read.
private struct NoMetricsFile: Error, CustomStringConvertible {
    let description = "it is no absolute path that ends in .prom"
}
