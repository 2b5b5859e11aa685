import DeliveryAdapters
import DeliveryEngine
import HTTPServer
import JobQueue
import Kernel
import Notifications
import Observability
import PushTransport
import ServiceRuntime
import Store

/// Joins the engine's ports to their servers.
struct Wiring: Sendable {
    /// A worker whose claims go unanswered for so long is not ready.
    private static let claimPatience = Duration.seconds(10)

    private let platform: Platform
    private let transport: PushTransport
    private let consumer: JobConsumer
    private let engine: DeliveryEngine
    private let operations: OperationsServer
    private let claims = ClaimClock()
    private let health: HealthBoard
    private let metrics: MetricsRegistry
    private let logger: Logger
    /// How long sends may go without an answer after the stop: half the stop deadline, so that there is time to record them.
    private let sendPatience: Duration

    init(_ config: WorkerConfig, service: Service) async throws {
        let telemetry = service.telemetry
        health = telemetry.health
        metrics = telemetry.metrics
        logger = telemetry.logger
        sendPatience = service.stopDeadline / 2
        platform = try await Platform(
            settings: config.platform,
            processName: service.name,
            databaseConnections: 4,
            telemetry: telemetry
        )
        transport = PushTransport(
            configuration: config.apns.configuration(sharing: platform.redis),
            fcm: config.fcm.configuration,
            telemetry: telemetry
        )
        consumer = JobConsumer(
            queue: platform.queue,
            redis: platform.redis,
            blockingURL: config.platform.redis,
            workerName: config.workerName,
            options: JobConsumer.Options(lockDuration: config.lockDuration, stalledInterval: config.lockDuration)
        )
        var configuration = EngineConfiguration()
        configuration.maxInFlight = config.maxInFlight
        configuration.lockDuration = config.lockDuration
        configuration.lockRenewal = config.lockDuration / 4
        configuration.stalledCheck = config.lockDuration / 2
        configuration.globalWeeklyCap = config.platform.globalWeeklyCap
        let ports = EnginePorts(
            jobs: QueueAdapter(consumer: consumer, claims: claims),
            recipients: RecipientAdapter(
                store: RecipientStore(
                    pool: platform.pool,
                    defaultZone: config.platform.defaultZone,
                    countsUnread: config.countsUnread
                )
            ),
            caps: CapAdapter(limiter: platform.limiter),
            messages: MessageAdapter(store: MessageStore(pool: platform.pool)),
            push: PushAdapter(transport: transport),
            outcomes: OutcomeAdapter(store: OutcomeStore(pool: platform.pool), telemetry: telemetry),
            tokens: TokenAdapter(store: DeviceStore(pool: platform.pool)),
            statistics: StatisticsAdapter(redis: platform.redis, telemetry: telemetry),
            upkeep: UpkeepAdapter(store: UpkeepStore(pool: platform.pool)),
            slotDebts: SlotDebtAdapter(store: SlotDebtStore(pool: platform.pool))
        )
        engine = DeliveryEngine(
            ports: ports,
            registry: platform.registry,
            catalog: config.platform.catalog,
            parser: platform.parser,
            identity: platform.identity,
            acceptsLiteralText: config.acceptsLiteralJobs,
            voucher: platform.voucher,
            configuration: configuration,
            telemetry: telemetry,
            checkpoint: CrashPoint.hook(of: config.crash)
        )
        operations = try OperationsServer.start(listen: config.platform.metricsListen, telemetry: telemetry)
        telemetry.logger.info("metrics and health are served", ["port": .integer(operations.port)])
    }

    /// Delivers until the stop, then lets what is in flight end. Sends without an answer at half of the stop deadline
    /// are given up as unknown, so that there is time left to record them.
    func deliver(until stop: StopSignal) async {
        let cutOff = Task {
            await stop.wait()
            await transport.drain(deadline: sendPatience)
        }
        await engine.run { await stop.wait() }
        cutOff.cancel()
    }

    /// Keeps readiness up to date.
    func watch(until stop: StopSignal) async {
        async let clocks: Void = platform.watchClocks(until: stop)
        async let ages: Void = watchAges(until: stop)
        while !stop.isRequested {
            health.set("claims", problem: claimProblem)
            var problems = transport.health.problems
            // FCM tells its own.
            problems["fcm"] = nil
            health.set("apns", problem: problems.isEmpty ? nil : problems.values.sorted().joined(separator: "; "))
            if await !stop.sleep(for: .seconds(1)) { break }
        }
        _ = await (clocks, ages)
    }

    /// How long the next job of each priority has waited, every quarter of a minute. Other priorities than the registry's come
    /// from foreign producers and share one series.
    private func watchAges(until stop: StopSignal) async {
        let known = Set(platform.registry.all.map(\.queuePriority))
        let names = known.sorted().map(String.init) + ["other"]
        let gauges = names.map { name in
            metrics.gauge(
                "queue_oldest_age_seconds",
                help: "How long the next job of each priority has been ready",
                labels: [("priority", name)]
            )
        }
        let failures = metrics.counter(
            "queue_oldest_age_failures_total",
            help: "Times the queue did not say how long its next jobs have waited; the ages then are the last known"
        )
        while !stop.isRequested {
            do {
                let ages = try await platform.queue.oldestAges()
                for (name, gauge) in zip(names, gauges) {
                    let found = ages.filter { (known.contains($0.priority) ? String($0.priority) : "other") == name }
                    gauge.set(found.map(\.age).max()?.inSeconds ?? 0)
                }
            } catch {
                failures.increment()
                logger.warning("the ages of the queue's next jobs are not known", ["error": .error(error)])
            }
            if await !stop.sleep(for: .seconds(15)) { return }
        }
    }

    /// Why the queue counts as not being served. Judged by claims, because a connection that pings may still be stuck.
    private var claimProblem: String? {
        let age = claims.age
        return age > Self.claimPatience ? "no claim was answered for \(age.milliseconds / 1000) s" : nil
    }

    func close() async {
        await operations.stop()
        await transport.close()
        await consumer.close()
        await platform.close()
    }
}
