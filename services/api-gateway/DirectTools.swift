import DeliveryAdapters
import GatewayAPI
import Kernel
import NotificationContract
import Notifications
import Observability
import Producers
import PushTransport
import Store

/// The gateway's own way to Apple and Google: Live Activities, raw pushes and the development routes go past the queue.
struct DirectTools: Sendable {
    let ports: DirectPorts
    let developer: DeveloperPorts
    private let transport: PushTransport

    init(_ config: GatewayConfig, platform: Platform, telemetry: Telemetry) {
        // A provider that is away or refuses us stops two routes, and no reason to take the gateway out of service: its health
        // is told by the metrics apns_problem and fcm_problem and by those routes themselves.
        transport = PushTransport(
            configuration: config.apns.configuration(sharing: platform.redis),
            fcm: config.fcm.configuration,
            telemetry: Telemetry(logger: telemetry.logger, metrics: telemetry.metrics)
        )
        let pool = platform.pool
        var providers: Set<PushProvider> = []
        if config.apns.isConfigured { providers.insert(.apns) }
        if config.fcm.configuration != nil { providers.insert(.fcm) }
        ports = DirectPorts(
            push: transport,
            providers: providers,
            activities: StoreLiveActivities(LiveActivityStore(pool: pool)),
            devices: StoreRawPushDirectory(PushTargetStore(pool: pool)),
            tokens: TokenAdapter(store: DeviceStore(pool: pool))
        )
        developer = DeveloperPorts(
            recipients: RecipientAdapter(
                store: RecipientStore(pool: pool, defaultZone: platform.settings.defaultZone)
            ),
            push: PushAdapter(transport: transport),
            caps: LimiterCaps(platform.limiter),
            voices: [
                .reminder: ReminderVoice(activity: ActivityStore(pool: pool), clock: SystemWallClock()),
                .lifecycle: LifecycleVoice(
                    store: SubscriptionStore(pool: pool),
                    notices: LifecycleNotices(
                        catalog: platform.settings.catalog,
                        tiers: config.tiers,
                        identity: platform.identity
                    ),
                    defaultZone: platform.settings.defaultZone,
                    clock: SystemWallClock()
                ),
                .campaign: CampaignVoice(store: CampaignStore(pool: pool)),
            ]
        )
    }

    func close() async {
        await transport.close()
    }
}
