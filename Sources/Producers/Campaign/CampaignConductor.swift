package import JobQueue
import Kernel
import Notifications
package import Observability
package import Store

/// Begins campaigns whose moment has come, puts their chunks on the queue of chunks, and ends them. Any number may run at once.
package struct CampaignConductor: Sendable {
    /// Chunks put on the queue in one turn.
    private static let group = 200

    private let store: CampaignFanOutStore
    private let chunks: JobQueue
    private let delivery: JobQueue
    private let highWater: Int
    private let plan: CampaignFanOutStore.FreezePlan
    private let logger: Logger
    private let failures: Counter

    /// - Parameters:
    ///   - delivery: the queue that the chunks' users go to.
    ///   - highWater: with more jobs than this ready there, nothing new is handed out.
    package init(
        store: CampaignFanOutStore,
        chunks: JobQueue,
        delivery: JobQueue,
        highWater: Int,
        plan: CampaignFanOutStore.FreezePlan,
        telemetry: Telemetry
    ) {
        self.store = store
        self.chunks = chunks
        self.delivery = delivery
        self.highWater = highWater
        self.plan = plan
        logger = telemetry.logger
        failures = telemetry.metrics.counter(
            "campaign_turn_failures_total",
            help: "Steps of the campaign producer that a server cut short."
        )
    }

    /// One look at everything: first at what has begun, so that it does not wait for an audience that is being frozen. A failure is
    /// counted and logged; the next turn goes on where this one was cut short.
    /// - Returns: whether there may be more to do at once.
    package func turn() async -> Bool {
        var handed = await attempt("hand out") { try await handOut() } ?? 0
        await attempt("finish") {
            for id in try await store.finishCampaigns() {
                logger.info("a campaign was handed to the queue whole", ["campaign": .string(id.description)])
            }
        }
        var hasBegun = false
        for id in await attempt("look for what is due", { try await store.due() }) ?? [] {
            // Each by itself: one that cannot begin holds up no other.
            let users = await attempt("begin \(id)") { try await store.begin(id, plan) }
            guard let users = users ?? nil else { continue }
            hasBegun = true
            logger.info("a campaign begins", ["campaign": .string(id.description), "users": .integer(users)])
        }
        if hasBegun { handed = await attempt("hand out") { try await handOut() } ?? 0 }
        return handed == Self.group
    }

    private func handOut() async throws -> Int {
        guard try await delivery.counts().ready <= highWater else { return 0 }
        let handed = try await store.handOut(limit: Self.group, chunkSize: plan.chunkSize)
        if !handed.isEmpty { _ = try await chunks.addBulk(handed.map(CampaignFanOut.job)) }
        return handed.count
    }

    @discardableResult
    private func attempt<Value>(_ step: String, _ body: () async throws -> Value) async -> Value? {
        do {
            return try await body()
        } catch {
            failures.increment()
            logger.warning("campaigns could not be looked after", ["step": .string(step), "error": .error(error)])
            return nil
        }
    }
}
