package import Notifications
package import PostgresClient
package import RedisClient
package import ServiceRuntime

/// The settings that gateway, worker and producers share: the servers, the queue and the rules.
package struct PlatformSettings: Sendable {
    package let database: PostgresURL
    package let preparesStatements: Bool
    package let redis: RedisURL
    /// Where the weekly caps live; the queue's Redis unless set.
    package let capsRedis: RedisURL
    package let queuePrefix: String
    package let queueName: String
    package let catalog: Catalog
    package let globalWeeklyCap: Int
    package let deeplinkSchemes: Set<String>
    /// Whose hours count for users whose own time zone is unknown; checked against the database's zones at the start.
    package let defaultZone: String
    /// `host:port` of metrics and health.
    package let metricsListen: String

    /// Reads the variables; to be used within `ConfigReader.part`.
    package init(reading reader: ConfigReader) throws {
        let database = reader.required(
            "DATABASE_URL",
            "Set the URL of the database, such as postgresql://varsel@127.0.0.1/varsel."
        ) { try PostgresURL(parsing: $0) }
        preparesStatements = reader.bool("DATABASE_PREPARE", default: true)
        let redis = reader.required("REDIS_URL", "Set the URL of the queue's Redis, such as redis://127.0.0.1:6379.") {
            try RedisURL(parsing: $0)
        }
        let caps = reader.optional("CAPS_REDIS_URL", "Set a Redis URL, or leave it out to use REDIS_URL.") {
            try RedisURL(parsing: $0)
        }
        queuePrefix = reader.string("QUEUE_PREFIX", default: "bull")
        queueName = reader.string("QUEUE_NAME", default: "notification-deliver")
        if queueName.contains(":") {
            reader.report("QUEUE_NAME", "contains a colon, which BullMQ refuses", fix: "Choose a name without one.")
        }
        let appName = reader.string("APP_NAME", default: "Impulse AI")
        globalWeeklyCap = reader.int("GLOBAL_WEEKLY_CAP", default: CategoryRegistry.standardGlobalCap, in: 1...1000)
        deeplinkSchemes = Set(reader.list("DEEPLINK_SCHEMES", default: ["im"]).map { $0.lowercased() })
        defaultZone = reader.string("DEFAULT_TIMEZONE", default: "UTC")
        let listen = reader.listenAddress("METRICS_LISTEN", default: ListenAddress(host: "127.0.0.1", port: 0))
        metricsListen = listen.description
        try reader.finish()
        self.database = try database.value
        self.redis = try redis.value
        capsRedis = try caps ?? redis.value
        catalog = try Catalog.standard(appName: appName)
    }
}
