import DeliveryAdapters
import GatewayAPI
import HTTPServer
import JobQueue
import Kernel
import NotificationBus
import Notifications
import Observability
import PostgresClient
import Producers
import PushTransport
import RedisClient
import ServiceRuntime
import Store

/// Joins the gateway's ports to their servers and opens its port.
struct Wiring: Sendable {
    /// How often readiness is looked at.
    private static let watchInterval = Duration.seconds(2)
    private static let patientConnections = 2
    /// A little less than the handlers that need it may take.
    private static let longestStatement = Duration.seconds(50)

    /// How often erasures are looked at that are due.
    private static let erasureInterval = Duration.seconds(5)

    private let platform: Platform
    private let eraser: UserEraser
    private let direct: DirectTools
    private let credentials: ServiceCredentialStore
    private let published: PublishedKeys?
    private let keys: TokenKeys
    /// For what looks through all users, or all that is held of one: so that no other request waits for it.
    private let patient: PostgresPool
    private let server: HTTPServer
    private let operations: OperationsServer
    private let telemetry: Telemetry
    /// How long running requests may take after the stop was requested: three fifths of the stop deadline.
    private let stopPatience: Duration

    init(_ config: GatewayConfig, service: Service) async throws {
        let telemetry = service.telemetry
        stopPatience = service.stopDeadline * 3 / 5
        let platform = try await Platform(
            settings: config.platform,
            processName: service.name,
            databaseConnections: config.databaseConnections,
            telemetry: telemetry
        )
        var options = PostgresPool.Options()
        options.size = Self.patientConnections
        options.prepare = config.platform.preparesStatements
        options.statementTimeout = Self.longestStatement
        options.applicationName = service.name
        let patient = PostgresPool(url: config.platform.database, options: options, telemetry: telemetry)
        let direct = DirectTools(config, platform: platform, telemetry: telemetry)
        let credentials = try config.access.credentialStore(telemetry: telemetry)
        let eraser = UserEraser(
            store: PersonalDataStore(pool: patient),
            queue: platform.queue,
            limiter: platform.limiter,
            registry: platform.registry,
            telemetry: telemetry
        )
        let clock = SystemWallClock()
        var ports = Self.ports(platform, patient, eraser, direct, isDeveloper: config.access.developerToken != nil)
        ports.appStore = try Self.appStorePorts(config, platform, telemetry: telemetry)
        ports.lifecycle = Self.lifecyclePorts(config, platform)
        let published = try config.access.keySet?.client(telemetry: telemetry)
        let keys = try config.access.tokenKeys(published, clock: clock, telemetry: telemetry)
        let gateway = Gateway(
            ports: ports,
            rules: GatewayRules(
                registry: platform.registry,
                catalog: config.platform.catalog,
                deeplinkSchemes: config.platform.deeplinkSchemes,
                globalWeeklyCap: config.platform.globalWeeklyCap,
                deviceDefaults: DeviceDefaults(environment: config.apns.environment, topic: config.apns.topic)
            ),
            doorkeeper: Doorkeeper(
                tokens: AccessTokens(keys: keys, clock: clock, telemetry: telemetry),
                services: credentials,
                developerToken: config.access.developerToken,
                clock: clock
            ),
            limiter: RegistrationLimiter(
                perMinute: config.registrationsPerMinute,
                burst: config.registrationsPerMinute,
                clock: clock
            ),
            clock: clock,
            ids: platform.ids,
            telemetry: telemetry
        )
        operations = try OperationsServer.start(listen: config.platform.metricsListen, telemetry: telemetry)
        server = try HTTPServer.start(
            options: HTTPServerOptions(listen: config.listen),
            desk: RequestDeskOptions(
                problemTypePrefix: "urn:varsel:problem:",
                trustedProxies: config.trustedProxies,
                logEveryRequest: config.logsEveryRequest
            ),
            router: gateway.router,
            telemetry: telemetry
        )
        telemetry.logger.info(
            "listening",
            [
                "address": .string(config.listen), "port": .integer(server.port),
                "metricsPort": .integer(operations.port), "routes": .integer(gateway.endpoints.count),
            ]
        )
        self.telemetry = telemetry
        self.platform = platform
        self.patient = patient
        self.eraser = eraser
        self.direct = direct
        self.credentials = credentials
        self.published = published
        self.keys = keys
    }

    private static func ports(
        _ platform: Platform,
        _ patient: PostgresPool,
        _ eraser: UserEraser,
        _ direct: DirectTools,
        isDeveloper: Bool
    ) -> GatewayPorts {
        let pool = platform.pool
        return GatewayPorts(
            devices: StoreDeviceDirectory(DeviceStore(pool: pool)),
            inbox: StoreInbox(InboxStore(pool: pool)),
            preferences: StorePreferenceBook(PreferenceStore(pool: pool)),
            door: BusDoor(platform.bus),
            schedules: StoreScheduleBook(ScheduleStore(pool: pool)),
            idempotency: StoreIdempotencyLedger(IdempotencyStore(pool: pool)),
            stories: StoreMessageStories(StoryStore(pool: pool)),
            personalData: eraser,
            activity: StoreActivityLog(ActivityStore(pool: pool)),
            campaigns: StoreCampaignDesk(
                CampaignStore(pool: pool),
                patient: CampaignStore(pool: patient),
                messages: CampaignMessages(identity: platform.identity),
                bus: platform.bus
            ),
            developer: isDeveloper ? direct.developer : nil,
            direct: direct.ports
        )
    }

    private static func appStorePorts(
        _ config: GatewayConfig,
        _ platform: Platform,
        telemetry: Telemetry
    ) throws -> AppStorePorts? {
        guard let verifier = try config.appStore.verifier(clock: SystemWallClock(), telemetry: telemetry) else {
            return nil
        }
        let queue = JobQueue(
            redis: platform.redis,
            name: try QueueName(prefix: config.platform.queuePrefix, name: LifecycleQueue.name),
            telemetry: telemetry
        )
        return AppStorePorts(
            verifier: verifier,
            intake: StoreAppStoreIntake(
                outbox: AppStoreOutbox(pool: platform.pool),
                queue: LifecycleQueue(queue: queue),
                telemetry: telemetry
            )
        )
    }

    private static func lifecyclePorts(_ config: GatewayConfig, _ platform: Platform) -> LifecyclePorts {
        LifecyclePorts(
            notices: LifecycleNotices(
                catalog: config.platform.catalog,
                tiers: config.tiers,
                identity: platform.identity
            ),
            audience: StoreLifecycleAudience(SubscriptionStore(pool: platform.pool))
        )
    }

    /// Serves until the stop, then lets running requests end.
    func serve(until stop: StopSignal) async {
        await stop.wait()
        await server.stop(deadline: stopPatience)
    }

    /// Goes on with erasures: every user is passed over twice.
    func erase(until stop: StopSignal) async {
        while !stop.isRequested {
            _ = await eraser.workOff()
            if await !stop.sleep(for: Self.erasureInterval) { break }
        }
    }

    /// Keeps readiness up to date.
    func watch(until stop: StopSignal) async {
        async let freshKeys: Void = keys.keepFresh { await stop.sleep(for: $0) }
        async let clocks: Void = platform.watchClocks(until: stop)
        while !stop.isRequested {
            await check("postgres") { _ = try await platform.pool.query("SELECT 1 AS one") }
            await check("redis") { _ = try await platform.redis.send(RedisCommand(["PING"])) }
            telemetry.health.set("keys", problem: keys.areUsable ? nil : "the issuer's published keys were not had")
            if await !stop.sleep(for: Self.watchInterval) { break }
        }
        telemetry.health.set("running", problem: "stopping")
        await clocks
        await freshKeys
    }

    private func check(_ name: String, _ ask: () async throws -> Void) async {
        do {
            try await ask()
            telemetry.health.set(name, problem: nil)
        } catch {
            telemetry.health.set(name, problem: "does not answer")
        }
    }

    /// Reads the service credentials again.
    func reload() {
        credentials.reload()
    }

    func close() async {
        await operations.stop()
        await direct.close()
        await published?.close()
        await patient.close()
        await platform.close()
    }
}
