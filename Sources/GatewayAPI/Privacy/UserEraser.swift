package import JobQueue
import Kernel
import NotificationContract
package import Notifications
package import Observability
package import RateLimiter
package import Store

/// Tells and erases what PostgreSQL and Redis hold of a user.
///
/// An erasure passes over everything twice, a minute apart: a worker or a request that was under way at the first pass may write
/// after it. The request is a row in the database, so every gateway can go on with it, also after a restart. A pass that fails is
/// repeated until it succeeds.
package struct UserEraser: PersonalData {
    /// Erasures that one round takes up.
    private static let batch = 10

    private let store: PersonalDataStore
    private let queue: JobQueue
    private let limiter: WeeklyLimiter
    private let registry: CategoryRegistry
    private let logger: Logger
    private let passes: Counter
    private let failures: Counter

    package init(
        store: PersonalDataStore,
        queue: JobQueue,
        limiter: WeeklyLimiter,
        registry: CategoryRegistry,
        telemetry: Telemetry
    ) {
        self.store = store
        self.queue = queue
        self.limiter = limiter
        self.registry = registry
        logger = telemetry.logger
        let help = "Passes over everything that is held of a user who is to be erased."
        passes = telemetry.metrics.counter("gateway_erasure_passes_total", help: help, labels: [("result", "done")])
        failures = telemetry.metrics.counter("gateway_erasure_passes_total", help: help, labels: [("result", "failed")])
    }

    package func page(of user: UserID, limit: Int, offset: Int) async throws -> PersonalDataPage {
        let page = try await asking { try await store.page(of: user, limit: limit, offset: offset) }
        return PersonalDataPage(tables: page.tables, hasNext: page.hasMore)
    }

    package func erase(_ user: UserID) async throws -> RequestedErasure {
        let erasure = try await asking { try await store.begin(user) }
        await pass(erasure)
        return RequestedErasure(
            userID: user,
            requestedAt: erasure.requestedAt,
            completesAt: erasure.dueAt
        )
    }

    /// Does the passes that are due.
    /// - Returns: how many were taken up.
    package func workOff() async -> Int {
        do {
            let due = try await store.claimDue(limit: Self.batch)
            for erasure in due { await pass(erasure) }
            return due.count
        } catch {
            logger.warning("erasures cannot be looked at", ["error": .error(error)])
            return 0
        }
    }

    /// Redis first: the database names the jobs.
    private func pass(_ erasure: PersonalDataStore.Erasure) async {
        do {
            for id in try await store.jobIDs(of: erasure.userID) { _ = try await queue.remove(id) }
            try await limiter.reset(
                userID: erasure.userID.rawValue,
                weekKeys: try await store.recentWeeks(),
                categoryIDs: registry.all.map(\.id.rawValue)
            )
            let rows = try await store.erase(erasure)
            try await store.finishPass(erasure)
            passes.increment()
            logger.info("erased a user", ["pass": .integer(erasure.passes + 1), "rows": .integer(rows)])
        } catch {
            failures.increment()
            logger.error("a pass of an erasure failed and will be repeated", ["error": .error(error)])
        }
    }
}
