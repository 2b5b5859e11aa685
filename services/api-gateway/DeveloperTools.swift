import DeliveryAdapters
import GatewayAPI
import Observability
import PushTransport
import Store

/// What only the development routes need: a way to Apple and Google and a look at the caps.
struct DeveloperTools: Sendable {
    let ports: DeveloperPorts
    private let transport: PushTransport

    init(_ config: GatewayConfig, platform: Platform, telemetry: Telemetry) {
        transport = PushTransport(
            configuration: config.apns.configuration(sharing: platform.redis),
            fcm: config.fcm.configuration,
            telemetry: telemetry
        )
        ports = DeveloperPorts(
            recipients: RecipientAdapter(store: RecipientStore(pool: platform.pool)),
            push: PushAdapter(transport: transport),
            caps: LimiterCaps(platform.limiter)
        )
    }

    func close() async {
        await transport.close()
    }
}
