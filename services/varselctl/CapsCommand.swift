import Kernel
import NotificationContract
import Notifications
import Observability
import PostgresClient
import RateLimiter
import RedisClient
import ServiceRuntime
import Store

/// Recounts the weekly slots from the messages in the database, for a caps' Redis that lost them.
struct CapsRebuild {
    /// What one run came to.
    struct Report: Equatable {
        var holders = 0
        var taken = 0
    }

    /// The caps' Redis did not answer; running it again is harmless.
    struct Away: Error, CustomStringConvertible {
        let description = "the caps' Redis does not answer; run this again, what was counted is not counted twice"
    }

    private static let pageSize = 500

    let store: UpkeepStore
    let debts: SlotDebtStore
    let limiter: WeeklyLimiter
    let registry: CategoryRegistry

    /// Takes the slot of every message that holds one in the weeks that run anywhere now. A slot that is there is left as it is, so
    /// that workers may deliver meanwhile.
    func run() async throws -> Report {
        var report = Report()
        var last: MessageID?
        while true {
            let page = try await store.holders(after: last, limit: Self.pageSize)
            let answers = await limiter.takeByForce(page.compactMap(request))
            guard !answers.contains(.uncounted) else { throw Away() }
            report.holders += answers.count
            report.taken += answers.count { $0 == .taken }
            // One that ended since it was read gave its slot back before this took it.
            let holders = try await store.stillHolding(page)
            let ended = page.filter { !holders.contains($0.id) }
            try await debts.owe(
                ended.compactMap { message in
                    message.weekKey.map {
                        SlotDebtStore.Debt(
                            messageID: message.id,
                            userID: message.userID,
                            category: message.category,
                            weekKey: $0
                        )
                    }
                }
            )
            last = page.last?.id
            if page.count < Self.pageSize { return report }
        }
    }

    private func request(_ message: UpkeepStore.Message) -> SlotRequest? {
        // A category that left the registry has no cap to count toward.
        guard let week = message.weekKey, let category = try? registry.category(CategoryID(message.category)) else {
            return nil
        }
        return SlotRequest(
            userID: message.userID,
            categoryID: message.category,
            weekKey: week,
            messageID: message.id.description,
            categoryCap: category.maxPerWeek,
            globalCap: category.countsTowardGlobalCap ? CategoryRegistry.standardGlobalCap : nil
        )
    }
}

extension CapsRebuild {
    /// Runs on the servers that the environment names.
    static func run(pool: PostgresPool, environment: [String: String]) async throws -> Report {
        let reader = ConfigReader(environment: environment)
        let queueURL = reader.required("REDIS_URL", "Set the URL of the queue's Redis, such as redis://127.0.0.1:6379.")
        {
            try RedisURL(parsing: $0)
        }
        let capsURL = reader.optional("CAPS_REDIS_URL", "Set a Redis URL, or leave it out to use REDIS_URL.") {
            try RedisURL(parsing: $0)
        }
        try reader.finish()
        let telemetry = Telemetry(logger: Logger(service: "varselctl", level: .error))
        let queueAddress = try queueURL.value
        let address = capsURL ?? queueAddress
        let redis = RedisClient(url: address, telemetry: telemetry)
        let isCluster: Bool
        do {
            isCluster = try await RedisServerCheck.run(redis).isCluster
        } catch {
            await redis.close()
            throw error
        }
        await redis.close()
        let limiter = WeeklyLimiter(
            url: address,
            // As the workers lay out their keys.
            layout: isCluster && address == queueAddress ? .cluster : .standalone,
            telemetry: telemetry
        )
        let result: Result<Report, any Error>
        do {
            let rebuild = CapsRebuild(
                store: UpkeepStore(pool: pool),
                debts: SlotDebtStore(pool: pool),
                limiter: limiter,
                registry: .standard
            )
            result = .success(try await rebuild.run())
        } catch {
            result = .failure(error)
        }
        await limiter.close()
        return try result.get()
    }
}
