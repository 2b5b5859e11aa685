import JobQueue
package import Kernel
package import Notifications
package import Observability
package import Producers
package import Store

/// The App Store's outbox in PostgreSQL, with the queue as a shortcut: a row that could not be put there is found by the
/// lifecycle producer a minute later.
package struct StoreAppStoreIntake: AppStoreIntake {
    private let outbox: AppStoreOutbox
    private let queue: LifecycleQueue
    private let logger: Logger
    private let notQueued: Counter

    package init(outbox: AppStoreOutbox, queue: LifecycleQueue, telemetry: Telemetry) {
        self.outbox = outbox
        self.queue = queue
        logger = telemetry.logger
        notQueued = telemetry.metrics.counter(
            "app_store_not_queued_total",
            help: "What was kept and could not be put on the queue at once, because Redis did not answer."
        )
    }

    package func receive(_ notification: AppStoreNotification, signedPayload: String) async throws -> Bool {
        let isNew = try await asking {
            try await outbox.keep(
                AppStoreOutbox.Notification(
                    environment: notification.environment.rawValue,
                    uuid: notification.uuid,
                    type: notification.type,
                    subtype: notification.subtype,
                    originalTransactionID: notification.originalTransactionID,
                    signedAt: notification.signedAt,
                    facts: notification.facts,
                    signedPayload: signedPayload
                )
            )
        }
        if isNew {
            await handOn(.notification(environment: notification.environment.rawValue, uuid: notification.uuid))
        }
        return isNew
    }

    package func claim(
        _ transaction: AppStoreTransaction,
        _ environment: AppStoreEnvironment,
        user: UserID
    ) async throws -> SubscriptionClaim {
        let id = transaction.originalTransactionID
        let claim = try await asking {
            try await outbox.claim(
                environment: environment.rawValue,
                originalTransactionID: id,
                user: user.rawValue,
                transaction: transaction.claims
            )
        }
        switch claim {
        case .linked: return .linked
        case .foreign: return .foreign
        case .accepted:
            await handOn(
                .link(environment: environment.rawValue, originalTransactionID: id, user: user.rawValue)
            )
            return .accepted
        }
    }

    private func handOn(_ waiting: AppStoreOutbox.Waiting) async {
        do {
            try await queue.add([waiting])
        } catch {
            notQueued.increment()
            logger.warning("kept, but not put on the queue", ["error": .error(error)])
        }
    }
}

/// Audiences from PostgreSQL.
package struct StoreLifecycleAudience: LifecycleAudienceReading {
    private let store: SubscriptionStore

    package init(_ store: SubscriptionStore) {
        self.store = store
    }

    package func audience(of user: UserID, at moment: Timestamp?) async throws -> SubscriptionAudience {
        try await asking { try await store.audience(of: user.rawValue, at: moment) }
    }
}
