import DeliveryAdapters
import HTTPServer
import Producers
import ServiceRuntime

/// What the gateway is told by its environment.
struct GatewayConfig: Sendable {
    let platform: PlatformSettings
    let apns: APNsSettings
    let fcm: FCMSettings
    let access: AccessSettings
    let appStore: AppStoreSettings
    let tiers: ProductTiers
    /// `host:port` of the HTTP interface.
    let listen: String
    let trustedProxies: TrustedProxies
    let databaseConnections: Int
    /// Device registrations that one address may make in a minute.
    let registrationsPerMinute: Int
    let logsEveryRequest: Bool

    init(reading reader: ConfigReader) throws {
        listen =
            reader.listenAddress("GATEWAY_LISTEN", default: ListenAddress(host: "127.0.0.1", port: 8080)).description
        databaseConnections = reader.int("GATEWAY_DATABASE_CONNECTIONS", default: 8, in: 1...256)
        registrationsPerMinute = reader.int("GATEWAY_REGISTRATIONS_PER_MINUTE", default: 60, in: 1...1_000_000)
        logsEveryRequest = reader.bool("GATEWAY_ACCESS_LOG", default: false)
        let proxies = reader.list("TRUSTED_PROXIES")
        let blocks = proxies.compactMap { AddressBlock($0) }
        if blocks.count < proxies.count {
            reader.report(
                "TRUSTED_PROXIES",
                "holds what is no address or block",
                fix: "List addresses and blocks such as 127.0.0.1,10.0.0.0/8,fd00::/8."
            )
        }
        trustedProxies = TrustedProxies(blocks)
        let platform = try reader.part(PlatformSettings.init(reading:))
        let apns = try reader.part { try APNsSettings(reading: $0, isRequired: false) }
        let fcm = try reader.part(FCMSettings.init(reading:))
        let access = try reader.part(AccessSettings.init(reading:))
        let appStore = try reader.part(AppStoreSettings.init(reading:))
        let tiers = try reader.part(ProductTiers.init(reading:))
        try reader.finish()
        self.platform = try platform.value
        self.apns = try apns.value
        self.fcm = try fcm.value
        self.access = try access.value
        self.appStore = try appStore.value
        self.tiers = try tiers.value
    }
}
