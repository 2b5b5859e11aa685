package import JobQueue
import Kernel
package import NotificationBus
package import Notifications
package import Observability
package import PostgresClient
package import RateLimiter
package import RedisClient
package import ServiceRuntime
import Signing
import Store

/// The servers and rules that every process of the platform stands on, checked before anything is built upon them.
package final class Platform: Sendable {
    /// Beyond this the queue's times and ours disagree visibly.
    private static let warningOffset = Duration.seconds(1)
    /// Beyond this a process is not ready: it would deliver delayed notifications at the wrong time.
    private static let refusedOffset = Duration.seconds(30)

    /// How long a large statement may take.
    private static let largeStatementTimeout = Duration.seconds(300)
    /// How often the servers are asked whether they are there.
    private static let watchPause = Duration.seconds(5)

    package let settings: PlatformSettings
    package let pool: PostgresPool
    package let redis: RedisClient
    package let limiter: WeeklyLimiter
    package let queue: JobQueue
    package let registry = CategoryRegistry.standard
    package let parser: NotificationParser
    package let identity: MessageIdentity
    package let bus: NotificationBus
    package let voucher: JobVoucher
    package let ids = MessageIDGenerator(clock: SystemWallClock())
    private let telemetry: Telemetry

    /// Connects and checks: the schema's version, that database and queue belong together, the default time zone, and that Redis is
    /// fit.
    /// - Parameters:
    ///   - processName: shown to the servers as the client's name.
    ///   - databaseConnections: the size of the pool.
    ///   - hasLargeStatements: for a process whose statements are few and large, and whose tables grow under them. Each is planned
    ///     anew, because a plan made for an empty table is a bad one for a full one, and may take minutes.
    /// - Throws: `ConfigError` for what an operator must mend (the process ends with 78), other errors for servers that are
    ///   away.
    package init(
        settings: PlatformSettings,
        processName: String,
        databaseConnections: Int,
        hasLargeStatements: Bool = false,
        telemetry: Telemetry
    ) async throws {
        self.settings = settings
        self.telemetry = telemetry
        var poolOptions = PostgresPool.Options()
        poolOptions.size = databaseConnections
        poolOptions.prepare = settings.preparesStatements && !hasLargeStatements
        if hasLargeStatements { poolOptions.statementTimeout = Self.largeStatementTimeout }
        poolOptions.applicationName = processName
        pool = PostgresPool(url: settings.database, options: poolOptions, telemetry: telemetry)
        redis = RedisClient(
            url: settings.redis,
            options: RedisClient.Options(connectionName: processName, label: "queue"),
            telemetry: telemetry
        )
        queue = JobQueue(
            redis: redis,
            name: try QueueName(prefix: settings.queuePrefix, name: settings.queueName),
            telemetry: telemetry
        )
        parser = NotificationParser(
            registry: registry,
            catalog: settings.catalog,
            deeplinkSchemes: settings.deeplinkSchemes
        )
        identity = MessageIdentity(prefix: settings.queuePrefix, queue: settings.queueName) { SHA256.hash($0) }
        let check = try await Self.check(redis, queue: queue.name, telemetry: telemetry)
        limiter = WeeklyLimiter(
            url: settings.capsRedis,
            layout: check.isCluster && settings.capsRedis == settings.redis ? .cluster : .standalone,
            telemetry: telemetry
        )
        let key = Array(try await Self.checkDatabase(pool, settings).utf8)
        voucher = JobVoucher { HMAC.sha256($0, key: key) }
        bus = NotificationBus(queue: queue, registry: registry, ids: ids, voucher: voucher)
        await prepareCaps()
    }

    /// The caps' first call would spend its short deadline on connecting. A server that is away is no reason not to start:
    /// messages go uncounted until it answers.
    private func prepareCaps() async {
        do {
            try await limiter.prepare()
        } catch {
            telemetry.logger.warning("the caps' Redis does not answer", ["error": .error(error)])
        }
    }

    /// - Returns: the deployment's key for vouchers.
    private static func checkDatabase(_ pool: PostgresPool, _ settings: PlatformSettings) async throws -> String {
        let key: String
        do {
            try await SchemaVersion.check(pool)
            key = try await Deployment.claim(pool, prefix: settings.queuePrefix, queue: settings.queueName)
        } catch let error as SchemaVersion.Mismatch {
            throw ConfigError(name: "DATABASE_URL", problem: error.description, fix: "Then start this process again.")
        } catch let error as Deployment.Mismatch {
            throw ConfigError(name: "QUEUE_NAME", problem: error.description, fix: "Then start this process again.")
        }
        guard try await TimeZoneStore(pool: pool).isKnown(settings.defaultZone) else {
            throw ConfigError(
                name: "DEFAULT_TIMEZONE",
                problem: "is no time zone that the database knows",
                fix: "Set an IANA name such as Europe/Oslo."
            )
        }
        return key
    }

    private static func check(
        _ redis: RedisClient,
        queue: QueueName,
        telemetry: Telemetry
    ) async throws -> RedisServerCheck {
        do {
            let check = try await RedisServerCheck.run(redis)
            for warning in check.warnings {
                telemetry.logger.warning("Redis is not set up for keeping jobs", ["problem": .string(warning)])
            }
            telemetry.metrics.gauge(
                "redis_append_only",
                help: "1 when Redis keeps an append-only file, which survives a kill"
            )
            .set(check.warnings.isEmpty ? 1 : 0)
            if check.isCluster, !queue.hasHashTag {
                throw ConfigError(
                    name: "QUEUE_PREFIX",
                    problem: "the server is a Redis Cluster and the prefix keeps the queue in no single slot",
                    fix: "Put it in braces, such as {bull}."
                )
            }
            return check
        } catch let error as RedisError where error.code == .unfitServer {
            throw ConfigError(
                name: "REDIS_URL",
                problem: error.description,
                fix: "Set up Redis as docs/configuration.md says."
            )
        }
    }

    /// Asks both servers for their time every few seconds, until the stop: whether they answer, and how far their clocks are
    /// from ours. Each on its own, so that one that hangs hides nothing of the other.
    package func watchClocks(until stop: StopSignal) async {
        async let redis: Void = watch("redis", until: stop) {
            try await RedisServerCheck.clockOffset(self.redis, clock: SystemWallClock())
        }
        async let postgres: Void = watch("postgres", until: stop) {
            let before = SystemWallClock().now
            let rows = try await self.pool.query("SELECT clock_timestamp() AS now")
            let after = SystemWallClock().now
            guard let server = try rows.first?.timestamp("now") else { return .zero }
            return .milliseconds(server.milliseconds - (before.milliseconds + after.milliseconds) / 2)
        }
        _ = await (redis, postgres)
    }

    private func watch(
        _ server: String,
        until stop: StopSignal,
        _ measure: @Sendable () async throws -> Duration
    ) async {
        while !stop.isRequested {
            await compare(server, measure)
            if await !stop.sleep(for: Self.watchPause) { return }
        }
    }

    private func compare(_ server: String, _ measure: () async throws -> Duration) async {
        let condition = "clock-\(server)"
        do {
            let offset = try await measure()
            telemetry.metrics.gauge(
                "clock_offset_seconds",
                help: "How far a server's clock is ahead of this process's",
                labels: [("server", server)]
            )
            .set(offset.inSeconds)
            let size = offset < .zero ? .zero - offset : offset
            if size > Self.warningOffset {
                telemetry.logger.warning(
                    "a server's clock differs from ours",
                    ["server": .string(server), "milliseconds": .integer(offset.milliseconds)]
                )
            }
            telemetry.health.set(
                condition,
                problem: size > Self.refusedOffset ? "its clock differs by \(offset.milliseconds) ms" : nil
            )
            telemetry.health.set(server, problem: nil)
        } catch {
            telemetry.health.set(server, problem: "does not answer")
        }
    }

    /// Closes every connection.
    package func close() async {
        await redis.close()
        await limiter.close()
        await pool.close()
    }
}
