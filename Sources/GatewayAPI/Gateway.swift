package import DeliveryEngine
package import HTTPServer
package import Kernel
package import NotificationContract
package import Notifications
package import Observability
package import Producers

/// Everything the gateway stands on.
package struct GatewayPorts: Sendable {
    package var devices: any DeviceDirectory
    package var inbox: any Inbox
    package var preferences: any PreferenceBook
    package var door: any NotificationDoor
    package var schedules: any ScheduleBook
    package var idempotency: any IdempotencyLedger
    package var stories: any MessageStories
    package var personalData: any PersonalData
    package var activity: any ActivityLog
    package var campaigns: any CampaignDesk
    /// What development routes need; `nil` where they do not exist.
    package var developer: DeveloperPorts?
    /// What Live Activities and raw pushes need; `nil` where they do not exist.
    package var direct: DirectPorts?
    /// What the App Store's routes need; `nil` where they do not exist.
    package var appStore: AppStorePorts?
    /// What the route for lifecycle events needs; `nil` where it does not exist.
    package var lifecycle: LifecyclePorts?

    package init(
        devices: any DeviceDirectory,
        inbox: any Inbox,
        preferences: any PreferenceBook,
        door: any NotificationDoor,
        schedules: any ScheduleBook,
        idempotency: any IdempotencyLedger,
        stories: any MessageStories,
        personalData: any PersonalData,
        activity: any ActivityLog,
        campaigns: any CampaignDesk,
        developer: DeveloperPorts?,
        direct: DirectPorts? = nil
    ) {
        self.devices = devices
        self.inbox = inbox
        self.preferences = preferences
        self.door = door
        self.schedules = schedules
        self.idempotency = idempotency
        self.stories = stories
        self.personalData = personalData
        self.activity = activity
        self.campaigns = campaigns
        self.developer = developer
        self.direct = direct
    }
}

/// What development routes stand on beside the rest.
package struct DeveloperPorts: Sendable {
    package var recipients: any RecipientReading
    package var push: any PushSending
    package var caps: any WeeklyCaps
    /// What the producers would say, by category.
    package var voices: [CategoryID: any CategoryVoice]

    package init(
        recipients: any RecipientReading,
        push: any PushSending,
        caps: any WeeklyCaps,
        voices: [CategoryID: any CategoryVoice] = [:]
    ) {
        self.voices = voices
        self.recipients = recipients
        self.push = push
        self.caps = caps
    }
}

/// What the gateway follows.
package struct GatewayRules: Sendable {
    package var registry: CategoryRegistry
    package var catalog: Catalog
    package var deeplinkSchemes: Set<String>
    package var globalWeeklyCap: Int
    package var deviceDefaults: DeviceDefaults
    /// How long Live Activities and raw pushes are waited for.
    package var directDeadline = DirectSender.standardDeadline

    package init(
        registry: CategoryRegistry,
        catalog: Catalog,
        deeplinkSchemes: Set<String>,
        globalWeeklyCap: Int,
        deviceDefaults: DeviceDefaults
    ) {
        self.registry = registry
        self.catalog = catalog
        self.deeplinkSchemes = deeplinkSchemes
        self.globalWeeklyCap = globalWeeklyCap
        self.deviceDefaults = deviceDefaults
    }
}

/// The HTTP API: its table of routes and the router that serves it.
package struct Gateway: Sendable {
    /// Every route that exists in this configuration.
    package let endpoints: [Endpoint]
    package let router: Router
    /// What describes them.
    package let document: OpenAPIDocument

    package init(
        ports: GatewayPorts,
        rules: GatewayRules,
        doorkeeper: Doorkeeper,
        limiter: RegistrationLimiter,
        clock: any WallClock,
        ids: MessageIDGenerator,
        telemetry: Telemetry
    ) {
        let parser = NotificationParser(
            registry: rules.registry,
            catalog: rules.catalog,
            deeplinkSchemes: rules.deeplinkSchemes
        )
        let reader = OrderReader(parser: parser, clock: clock)
        var endpoints = DeviceTokenRoutes(devices: ports.devices, limiter: limiter, defaults: rules.deviceDefaults)
            .endpoints
        endpoints += InboxRoutes(inbox: ports.inbox).endpoints
        endpoints +=
            PreferenceRoutes(book: ports.preferences, registry: rules.registry, catalog: rules.catalog, clock: clock)
            .endpoints
        endpoints +=
            EnqueueRoutes(
                door: ports.door,
                schedules: ports.schedules,
                reader: reader,
                clock: clock,
                idempotency: IdempotentRequests(ledger: ports.idempotency, ids: ids, telemetry: telemetry)
            )
            .endpoints
        endpoints += ScheduleRoutes(book: ports.schedules, door: ports.door, clock: clock, ids: ids).endpoints
        endpoints += ExplainRoutes(stories: ports.stories).endpoints
        endpoints += PersonalDataRoutes(data: ports.personalData, clock: clock).endpoints
        endpoints += ActivityRoutes(log: ports.activity, clock: clock).endpoints
        if let direct = ports.direct {
            let idempotency = IdempotentRequests(ledger: ports.idempotency, ids: ids, telemetry: telemetry)
            endpoints += Self.directEndpoints(direct, rules, idempotency, clock, telemetry)
        }
        if let appStore = ports.appStore {
            endpoints += AppStoreRoutes(ports: appStore, telemetry: telemetry).endpoints
        }
        if let lifecycle = ports.lifecycle {
            endpoints +=
                LifecycleRoutes(
                    ports: lifecycle,
                    door: ports.door,
                    idempotency: IdempotentRequests(ledger: ports.idempotency, ids: ids, telemetry: telemetry),
                    clock: clock
                )
                .endpoints
        }
        if let campaign = try? rules.registry.category(.campaign) {
            endpoints +=
                CampaignRoutes(
                    desk: ports.campaigns,
                    reader: CampaignReader(parser: parser, catalog: rules.catalog, category: campaign),
                    idempotency: IdempotentRequests(ledger: ports.idempotency, ids: ids, telemetry: telemetry),
                    clock: clock
                )
                .endpoints
        }
        if doorkeeper.hasDeveloperToken, let developer = ports.developer {
            endpoints += Self.developerEndpoints(developer, ports, rules, reader, ids)
        }
        let documents = DocumentRoutes(describing: endpoints, schemas: CommonSchemas.all(rules))
        endpoints += documents.endpoints
        document = documents.document
        self.endpoints = endpoints
        router = GatewayRouter(doorkeeper: doorkeeper, telemetry: telemetry).router(endpoints)
    }

    private static func directEndpoints(
        _ direct: DirectPorts,
        _ rules: GatewayRules,
        _ idempotency: IdempotentRequests,
        _ clock: any WallClock,
        _ telemetry: Telemetry
    ) -> [Endpoint] {
        let sender = DirectSender(push: direct.push, telemetry: telemetry, deadline: rules.directDeadline)
        return LiveActivitySessionRoutes(book: direct.activities, defaults: rules.deviceDefaults).endpoints
            + LiveActivityRoutes(
                book: direct.activities,
                sender: sender,
                canSend: direct.providers.contains(.apns),
                idempotency: idempotency,
                clock: clock,
                telemetry: telemetry
            )
            .endpoints
            + RawPushRoutes(
                directory: direct.devices,
                tokens: direct.tokens,
                sender: sender,
                providers: direct.providers,
                idempotency: idempotency,
                telemetry: telemetry
            )
            .endpoints
    }

    private static func developerEndpoints(
        _ developer: DeveloperPorts,
        _ ports: GatewayPorts,
        _ rules: GatewayRules,
        _ reader: OrderReader,
        _ ids: MessageIDGenerator
    ) -> [Endpoint] {
        let diagnosis = ConsentDiagnosis(
            recipients: developer.recipients,
            caps: developer.caps,
            registry: rules.registry,
            globalCap: rules.globalWeeklyCap,
            ids: ids
        )
        return DeveloperRoutes(
            diagnosis: diagnosis,
            ping: DevicePing(
                diagnosis: diagnosis,
                push: developer.push,
                registry: rules.registry,
                catalog: rules.catalog,
                ids: ids
            ),
            door: ports.door,
            book: ports.preferences,
            caps: developer.caps,
            voices: developer.voices,
            reader: reader,
            registry: rules.registry,
            catalog: rules.catalog,
            ids: ids
        )
        .endpoints
    }
}
