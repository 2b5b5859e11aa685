package import DeliveryEngine
package import Kernel
package import Observability
package import RedisClient

/// Daily numbers in Redis: hash `varsel:stats:<yyyy-mm-dd>` (UTC), field `<category>:<outcome>`, kept for 90 days.
package struct StatisticsAdapter: StatisticsCounting {
    private static let lifetime = 90 * 86_400

    private let redis: RedisClient
    private let telemetry: Telemetry
    private let failures: Counter

    package init(redis: RedisClient, telemetry: Telemetry) {
        self.redis = redis
        self.telemetry = telemetry
        failures = telemetry.metrics.counter("delivery_statistics_failures_total", help: "Daily numbers not written")
    }

    package func add(_ counts: [OutcomeCount: Int], at moment: Timestamp) async {
        let key = "varsel:stats:\(moment.rfc3339.prefix(10))"
        var commands = counts.map { entry in
            RedisCommand([
                "HINCRBY", .string(key), .string("\(entry.key.category):\(entry.key.outcome)"), .init(entry.value),
            ])
        }
        commands.append(RedisCommand(["EXPIRE", .string(key), .init(Self.lifetime)]))
        do {
            _ = try await redis.pipeline(commands)
        } catch {
            failures.increment()
            telemetry.logger.warning("daily numbers were not written", ["error": .error(error)])
        }
    }
}
