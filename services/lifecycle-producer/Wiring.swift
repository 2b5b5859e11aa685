import DeliveryAdapters
import HTTPFetch
import HTTPServer
import JobQueue
import Kernel
import Observability
import Producers
import ServiceRuntime
import Store

/// Joins the lifecycle producer to its servers.
struct Wiring: Sendable {
    /// A worker whose claims go unanswered for so long is not ready.
    private static let claimPatience = Duration.seconds(10)

    private let platform: Platform
    private let worker: JobWorker
    private let loops: LifecycleService
    private let operations: OperationsServer
    private let health: HealthBoard

    init(_ config: LifecycleConfig, service: Service) async throws {
        let telemetry = service.telemetry
        let clock = SystemWallClock()
        health = telemetry.health
        platform = try await Platform(
            settings: config.platform,
            processName: service.name,
            databaseConnections: 8,
            telemetry: telemetry
        )
        let store = SubscriptionStore(pool: platform.pool)
        let producer = LifecycleProducer(
            store: store,
            bus: platform.bus,
            notices: LifecycleNotices(
                catalog: config.platform.catalog,
                tiers: config.tiers,
                identity: platform.identity
            ),
            clock: clock,
            telemetry: telemetry,
            checkpoint: CrashPoint.hook(of: config.crash)
        )
        let queue = JobQueue(
            redis: platform.redis,
            name: try QueueName(prefix: config.platform.queuePrefix, name: LifecycleQueue.name),
            telemetry: telemetry
        )
        worker = JobWorker(
            queue: queue,
            redis: platform.redis,
            blockingURL: config.platform.redis,
            options: JobWorker.Options(
                name: service.name,
                concurrency: 8,
                claimGroup: 32,
                stopGrace: service.stopDeadline / 2,
                consumer: .init(lockDuration: config.lockDuration, stalledInterval: config.lockDuration)
            )
        ) { context in try await producer.handle(context) }
        loops = LifecycleService(
            queue: LifecycleQueue(queue: queue),
            outbox: AppStoreOutbox(pool: platform.pool),
            notices: ExpiryNotices(
                store: store,
                producer: producer,
                api: try Self.serverAPI(config.appStore, clock: clock, telemetry: telemetry),
                defaultZone: config.platform.defaultZone,
                clock: clock,
                telemetry: telemetry
            ),
            sweepInterval: config.sweepInterval,
            telemetry: telemetry
        )
        operations = try OperationsServer.start(listen: config.platform.metricsListen, telemetry: telemetry)
        telemetry.logger.info("metrics and health are served", ["port": .integer(operations.port)])
    }

    private static func serverAPI(
        _ settings: AppStoreSettings,
        clock: any WallClock,
        telemetry: Telemetry
    ) throws -> AppStoreServerAPI? {
        guard let api = settings.serverAPI, let verifier = try settings.verifier(clock: clock, telemetry: telemetry)
        else { return nil }
        return AppStoreServerAPI(
            fetch: HTTPFetch(options: AppStoreServerAPI.options, telemetry: telemetry),
            baseURL: api.baseURL,
            key: api.key,
            issuerID: api.issuerID,
            bundleID: settings.bundleID,
            verifier: verifier,
            clock: clock
        )
    }

    /// Handles jobs until the stop.
    func work(until stop: StopSignal) async throws {
        try await worker.run { await stop.wait() }
    }

    /// Looks after the outbox until the stop.
    func resend(until stop: StopSignal) async {
        await loops.resend { await stop.sleep(for: $0) }
    }

    /// Looks for ending subscriptions until the stop.
    func announceEnds(until stop: StopSignal) async {
        await loops.announceEnds({ await stop.sleep(for: $0) }, isStopped: { stop.isRequested })
    }

    /// Keeps readiness up to date.
    func watch(until stop: StopSignal) async {
        async let clocks: Void = platform.watchClocks(until: stop)
        let start = ContinuousClock.now
        while !stop.isRequested {
            let age = ContinuousClock.now - (worker.lastAnsweredClaim ?? start)
            health.set(
                "claims",
                problem: age > Self.claimPatience ? "no claim was answered for \(age.milliseconds / 1000) s" : nil
            )
            if await !stop.sleep(for: .seconds(1)) { break }
        }
        await clocks
    }

    func close() async {
        await operations.stop()
        await platform.close()
    }
}
