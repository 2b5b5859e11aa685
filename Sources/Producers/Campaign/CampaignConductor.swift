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
    private let plan: CampaignFanOutStore.FreezePlan
    private let logger: Logger
    private let failures: Counter

    package init(
        store: CampaignFanOutStore,
        chunks: JobQueue,
        plan: CampaignFanOutStore.FreezePlan,
        telemetry: Telemetry
    ) {
        self.store = store
        self.chunks = chunks
        self.plan = plan
        logger = telemetry.logger
        failures = telemetry.metrics.counter(
            "campaign_turn_failures_total",
            help: "Turns of the campaign producer that a server cut short."
        )
    }

    /// One look at everything. A failure is counted and logged; the next turn goes on where this one was cut short.
    /// - Returns: whether there may be more to do at once.
    package func turn() async -> Bool {
        do {
            for id in try await store.due() {
                guard let users = try await store.begin(id, plan) else { continue }
                logger.info("a campaign begins", ["campaign": .string(id.description), "users": .integer(users)])
            }
            let handed = try await store.handOut(limit: Self.group)
            if !handed.isEmpty { _ = try await chunks.addBulk(handed.map(CampaignFanOut.job)) }
            for id in try await store.finishCampaigns() {
                logger.info("a campaign was handed to the queue whole", ["campaign": .string(id.description)])
            }
            return handed.count == Self.group
        } catch {
            failures.increment()
            logger.warning("campaigns could not be looked after", ["error": .error(error)])
            return false
        }
    }
}
