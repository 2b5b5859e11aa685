package import Kernel
package import Observability
package import Store

/// The notice three days before a subscription ends that will not renew (P6), at a decent hour of the owner's own day, once for
/// each period however often and wherever this runs.
package struct ExpiryNotices: Sendable {
    private static let page = 200

    private let store: SubscriptionStore
    private let producer: LifecycleProducer
    private let api: AppStoreServerAPI?
    private let defaultZone: String
    private let clock: any WallClock
    private let metrics: LifecycleMetrics
    private let logger: Logger

    /// - Parameters:
    ///   - api: asked before a notice, where there is a key for it; without an answer of Apple's nothing is said.
    ///   - defaultZone: for owners whose zone is unknown.
    package init(
        store: SubscriptionStore,
        producer: LifecycleProducer,
        api: AppStoreServerAPI?,
        defaultZone: String,
        clock: any WallClock,
        telemetry: Telemetry
    ) {
        self.store = store
        self.producer = producer
        self.api = api
        self.defaultZone = defaultZone
        self.clock = clock
        metrics = LifecycleMetrics(telemetry.metrics)
        logger = telemetry.logger
    }

    /// Looks through what is due now.
    /// - Parameter isStopped: ends the run early; what is left is due at the next.
    /// - Returns: how many notices were put on the queue.
    package func run(isStopped: () -> Bool = { false }) async throws -> Int {
        var announced = 0
        var last: (expiresAt: Timestamp, id: String)?
        while !isStopped() {
            let due = try await store.expiring(
                now: clock.now,
                defaultZone: defaultZone,
                after: last,
                limit: Self.page
            )
            for candidate in due {
                guard !isStopped() else { return announced }
                switch try await look(candidate.id) {
                case .announced: announced += 1
                case .passed: break
                // Apple has had enough questions: the next run goes on.
                case .tooMany: return announced
                }
            }
            guard let end = due.last, due.count == Self.page else { break }
            last = (end.expiresAt, end.id)
        }
        return announced
    }

    private enum Look { case announced, passed, tooMany }

    private func look(_ id: String) async throws -> Look {
        var statuses: [AppStoreServerAPI.Status]?
        if let api {
            do {
                statuses = try await api.statuses(of: id)
            } catch {
                return await unanswered(error)
            }
        }
        let outcome = try await decide(id, statuses)
        metrics.countExpiryCheck(outcome)
        return outcome == "announced" ? .announced : .passed
    }

    /// Nothing is said on what may have changed: within the days that are left there are many more runs.
    private func unanswered(_ failure: AppStoreServerAPI.Failure) async -> Look {
        switch failure {
        case .later(let reason):
            metrics.countExpiryCheck("later")
            logger.warning("Apple's server did not answer, asked again later", ["reason": .string(reason)])
            return reason == "429" ? .tooMany : .passed
        case .refused(let reason):
            metrics.countExpiryCheck("refused")
            logger.warning("Apple's server refused a question about a subscription", ["reason": .string(reason)])
            return .passed
        }
    }

    private func decide(_ id: String, _ statuses: [AppStoreServerAPI.Status]?) async throws -> String {
        let now = clock.now
        return try await store.session { session in
            var record = try await session.subscription(environment: AppStoreEnvironment.production.rawValue, id: id)
            if let statuses {
                guard let status = statuses.first(where: { $0.transaction.originalTransactionID == id }) else {
                    return "unknown"
                }
                record.apply(status)
                try await session.save(record)
                let others = statuses.filter { $0.transaction.originalTransactionID != id }
                if others.contains(where: { $0.goesOn(beside: record, now: now) }) { return "other_active" }
            }
            // Asked again under the lock and on what Apple said: another process, or Apple's answer, may have settled it.
            guard try await session.isExpiring(record, now: now, defaultZone: defaultZone) else { return "not_due" }
            if try await session.hasOther(than: record, at: record.expiresAt ?? now) { return "other_active" }
            guard
                try await producer.announce(
                    .subscriptionExpiring,
                    &record,
                    happenedAt: record.expiresAt ?? now,
                    session
                )
                    != nil
            else { return "no_user" }
            try await session.save(record)
            return "announced"
        }
    }
}

extension AppStoreServerAPI.Status {
    /// Whether this subscription of the same group gives access after the other has ended.
    fileprivate func goesOn(beside record: SubscriptionRecord, now: Timestamp) -> Bool {
        guard transaction.subscriptionGroup == record.subscriptionGroup, status == 1 || status == 4 else {
            return false
        }
        return (transaction.expiresAt ?? now) > (record.expiresAt ?? now)
    }
}

extension SubscriptionRecord {
    /// Takes over what Apple answered just now.
    fileprivate mutating func apply(_ status: AppStoreServerAPI.Status) {
        apply(status.transaction)
        apply(status.renewal)
        self.status = status.status
        eventSignedAt = max(eventSignedAt ?? status.transaction.signedAt, status.transaction.signedAt)
    }
}
