import Kernel
import NotificationContract
import Notifications
import Observability

/// Puts right, beside the pipeline, what no run comes back to: slots of messages that went out uncounted, slots that could not be
/// freed, and rows whose job is gone.
///
/// Every step can be cut short and repeated, here or in another worker: slots belong to message ids, and a row is ended once.
struct SlotKeeper: Sendable {
    /// How long beyond its time to live a pending row is left alone.
    static let grace = Duration.seconds(3600)
    /// How far back the first pass of a process looks, and every other.
    private static let firstLookBack = Duration.seconds(30 * 86_400)
    private static let lookBack = Duration.seconds(5 * 86_400)
    private static let groupSize = 256

    let upkeep: any MessageUpkeep
    let caps: any CapTaking
    let debts: any SlotDebtKeeping
    let statistics: any StatisticsCounting
    let registry: CategoryRegistry
    let configuration: EngineConfiguration
    let clock: any Clock<Duration>
    let wallClock: any WallClock
    let telemetry: Telemetry
    let metrics: EngineMetrics

    /// Works until cancelled.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await repeatedly("count", every: configuration.uncountedCheck) { _ in try await countUncounted() }
            }
            group.addTask {
                await repeatedly("settle", every: configuration.uncountedCheck) { _ in try await settleDebts() }
            }
            group.addTask {
                await repeatedly("reap", every: configuration.lostCheck) { isFirst in
                    try await endLost(lookBack: isFirst ? Self.firstLookBack : Self.lookBack)
                }
            }
        }
    }

    /// Takes the slots of messages that went out while the caps did not answer, above the caps if need be.
    func countUncounted() async throws {
        while !Task.isCancelled {
            let found = try await upkeep.uncounted(limit: Self.groupSize)
            guard !found.isEmpty else { return }
            guard await caps.takeByForce(found.filter(\.keepsSlot).compactMap(claim)) else { return }
            let marked = try await upkeep.markCounted(found)
            // One that changed meanwhile may have given back before this took. Whether its slot is its own is seen when the debt is
            // settled.
            let doubtful = found.filter { !$0.keepsSlot || !marked.contains($0.id) }
            try await debts.owe(doubtful.compactMap(claim).map(SlotDebt.init))
            metrics.slotsCounted.increment(by: marked.count)
            telemetry.logger.info("slots of uncounted messages were taken", ["messages": .integer(marked.count)])
            // None was left as it was read: the next turn looks again.
            if found.count < Self.groupSize || marked.isEmpty { return }
        }
    }

    /// Frees the slots that could not be freed when they should have been.
    func settleDebts() async throws {
        while !Task.isCancelled {
            let settled = try await debts.settle(limit: Self.groupSize) { debts in
                try await caps.giveBack(
                    debts.compactMap { debt in
                        claim(debt.messageID, user: debt.userID, category: debt.category, week: debt.weekKey)
                    }
                )
            }
            guard settled > 0 else { return }
            metrics.slotsFreedLate.increment(by: settled)
            telemetry.logger.info("slots that were to be freed are free", ["slots": .integer(settled)])
            if settled < Self.groupSize { return }
        }
    }

    /// Ends rows that stayed pending. Their slots become debts in the same step.
    func endLost(lookBack: Duration) async throws {
        let ages = Dictionary(
            registry.all.map { ($0.id, $0.timeToLive + Self.grace) },
            uniquingKeysWith: { first, _ in first }
        )
        while !Task.isCancelled {
            let found = try await upkeep.lost(ages: ages, lookBack: lookBack, limit: Self.groupSize)
            guard !found.isEmpty else { return }
            let outcomes = try await upkeep.endLost(found.map(\.id))
            let ended = outcomes.values.reduce(0, +)
            metrics.messagesLost.increment(by: ended)
            for (key, count) in outcomes { metrics.outcome(key.outcome, category: key.category).increment(by: count) }
            if !outcomes.isEmpty { await statistics.add(outcomes, at: wallClock.now) }
            telemetry.logger.warning("messages whose job is gone were ended", ["messages": .integer(ended)])
            // None of them was ours to end: another worker is at it.
            if found.count < Self.groupSize || ended == 0 { return }
        }
    }

    private func claim(_ message: UpkeptMessage) -> CapClaim? {
        guard let week = message.weekKey, let user = UserID(message.userID) else { return nil }
        return claim(message.id, user: user, category: message.category, week: week)
    }

    /// `nil` for a category that left the registry: its slots count toward nothing.
    private func claim(_ id: MessageID, user: UserID, category: CategoryID, week: String) -> CapClaim? {
        guard let category = try? registry.category(category) else { return nil }
        return CapClaim(
            messageID: id,
            userID: user,
            category: category.id,
            weekKey: week,
            categoryCap: category.maxPerWeek,
            globalCap: category.countsTowardGlobalCap ? configuration.globalWeeklyCap : nil
        )
    }

    private func repeatedly(
        _ step: String,
        every pause: Duration,
        _ body: (_ isFirst: Bool) async throws -> Void
    ) async {
        var isFirst = true
        while !Task.isCancelled {
            do {
                try await body(isFirst)
                isFirst = false
            } catch {
                metrics.failure(step).increment()
                telemetry.logger.warning("upkeep failed", ["step": .string(step), "error": .error(error)])
            }
            // A cancelled sleep is the end of the loop.
            try? await clock.sleep(for: pause)
        }
    }
}
