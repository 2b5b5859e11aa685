import DeliveryAdapters
import HTTPServer
import JobQueue
import Kernel
import NotificationContract
import Notifications
import Observability
import PostgresClient
import Producers
import ServiceRuntime
import Store

/// Joins the campaign producer to its servers.
struct Wiring: Sendable {
    private static let turnInterval = Duration.milliseconds(500)
    /// A million users are frozen in one statement.
    private static let longestStatement = Duration.seconds(300)
    /// Chunks in work at a time.
    private static let concurrency = 4
    /// A producer whose claims go unanswered for so long is not ready.
    private static let claimPatience = Duration.seconds(10)

    private let platform: Platform
    private let pool: PostgresPool
    private let conductor: CampaignConductor
    private let worker: JobWorker
    private let operations: OperationsServer
    private let health: HealthBoard

    init(_ config: CampaignConfig, service: Service) async throws {
        let telemetry = service.telemetry
        health = telemetry.health
        platform = try await Platform(
            settings: config.platform,
            processName: service.name,
            databaseConnections: 1,
            telemetry: telemetry
        )
        var options = PostgresPool.Options()
        options.size = Self.concurrency + 1
        options.prepare = config.platform.preparesStatements
        options.statementTimeout = Self.longestStatement
        options.applicationName = service.name
        pool = PostgresPool(url: config.platform.database, options: options, telemetry: telemetry)
        let store = CampaignFanOutStore(pool: pool)
        let chunks = JobQueue(
            redis: platform.redis,
            name: try QueueName(prefix: config.platform.queuePrefix, name: CampaignFanOut.queueName),
            telemetry: telemetry
        )
        conductor = CampaignConductor(
            store: store,
            chunks: chunks,
            delivery: platform.queue,
            highWater: config.highWater,
            plan: CampaignFanOutStore.FreezePlan(defaultZone: config.platform.defaultZone),
            telemetry: telemetry
        )
        let fanOut = CampaignFanOut(
            store: store,
            messages: CampaignMessages(identity: platform.identity),
            bus: platform.bus,
            delivery: platform.queue,
            highWater: config.highWater,
            window: try platform.registry.category(.campaign).window ?? .always,
            telemetry: telemetry
        )
        worker = JobWorker(
            queue: chunks,
            redis: platform.redis,
            blockingURL: config.platform.redis,
            options: JobWorker.Options(
                name: service.name,
                concurrency: Self.concurrency,
                claimGroup: Self.concurrency,
                stopGrace: service.stopDeadline / 2,
                consumer: JobConsumer.Options(
                    lockDuration: config.lockDuration,
                    stalledInterval: config.lockDuration
                )
            )
        ) { context in try await fanOut.handle(context) }
        operations = try OperationsServer.start(listen: config.platform.metricsListen, telemetry: telemetry)
    }

    /// Looks after campaigns until the stop.
    func conduct(until stop: StopSignal) async {
        while !stop.isRequested {
            if await conductor.turn() { continue }
            if await !stop.sleep(for: Self.turnInterval) { return }
        }
    }

    /// Hands chunks over until the stop.
    func fanOut(until stop: StopSignal) async throws {
        try await worker.run { await stop.wait() }
    }

    /// Keeps readiness up to date.
    func watch(until stop: StopSignal) async {
        async let clocks: Void = platform.watchClocks(until: stop)
        let start = ContinuousClock.now
        while !stop.isRequested {
            let age = (worker.lastAnsweredClaim ?? start).duration(to: .now)
            let problem = age > Self.claimPatience ? "no claim was answered for \(age.milliseconds / 1000) s" : nil
            health.set("claims", problem: problem)
            if await !stop.sleep(for: .seconds(1)) { break }
        }
        await clocks
    }

    func close() async {
        await operations.stop()
        await pool.close()
        await platform.close()
    }
}
