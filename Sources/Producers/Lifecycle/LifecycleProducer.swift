package import JobQueue
package import Kernel
package import NotificationBus
import Notifications
package import Observability
import PostgresClient
package import Store

/// Turns what the App Store told into notices (P6). It alone writes subscriptions, each under a lock of its row; a notice is put
/// on the queue within the same transaction, so that nobody can call it back before it is there.
package struct LifecycleProducer: Sendable {
    /// A place where a test may end the process.
    package enum Checkpoint: String, Sendable, CaseIterable {
        /// The subscription is locked, nothing is changed.
        case locked
        /// The notice is on the queue, nothing is committed.
        case announced
        /// All is committed, the job is not finished.
        case committed
    }

    /// How long a job waits while a server does not answer.
    private static let outagePause = Duration.seconds(5)

    private let store: SubscriptionStore
    private let bus: NotificationBus
    private let notices: LifecycleNotices
    private let clock: any WallClock
    private let metrics: LifecycleMetrics
    private let logger: Logger
    private let checkpoint: @Sendable (Checkpoint) -> Void

    package init(
        store: SubscriptionStore,
        bus: NotificationBus,
        notices: LifecycleNotices,
        clock: any WallClock,
        telemetry: Telemetry,
        checkpoint: @escaping @Sendable (Checkpoint) -> Void = { _ in }
    ) {
        self.store = store
        self.bus = bus
        self.notices = notices
        self.clock = clock
        self.checkpoint = checkpoint
        metrics = LifecycleMetrics(telemetry.metrics)
        logger = telemetry.logger
    }

    /// Handles one job of `app-store-events`.
    /// - Returns: its return value, `{"outcome": …}`.
    package func handle(_ context: JobContext) async throws -> String {
        let data = try context.value()
        guard let environment = data["environment"]?.stringValue.flatMap(AppStoreEnvironment.init) else {
            throw UnrecoverableFailure("the job names no environment")
        }
        let isLastAttempt = context.job.attemptsMade >= 4
        let outcome: String
        if let uuid = data["notificationUUID"]?.stringValue.flatMap({ UUIDBits($0) }) {
            outcome = try await settling(uuid, environment, isLastAttempt) {
                try await process(uuid, environment)?.rawValue ?? "gone"
            }
        } else if let id = data["originalTransactionId"]?.stringValue, let user = data["userId"]?.stringValue {
            outcome = try await pausing { try await link(user, to: id, environment) }
        } else {
            throw UnrecoverableFailure("the job names neither a notification nor a link")
        }
        checkpoint(.committed)
        let value: JSONValue = ["outcome": .string(outcome)]
        return value.text
    }

    // MARK: Failures

    /// A server that is away costs no attempt.
    private func pausing<Value>(_ work: () async throws -> Value) async throws -> Value {
        do {
            return try await work()
        } catch let error as PostgresError where error.isOutage {
            throw DelayedJob(until: clock.now + Self.outagePause)
        } catch let error as JobQueueError where error.code == .redis {
            throw DelayedJob(until: clock.now + Self.outagePause)
        }
    }

    /// What fails for good is settled as failed, so that it is not put on the queue again and again.
    private func settling(
        _ uuid: UUIDBits,
        _ environment: AppStoreEnvironment,
        _ isLastAttempt: Bool,
        _ work: () async throws -> String
    ) async throws -> String {
        do {
            return try await pausing(work)
        } catch let pause as DelayedJob {
            throw pause
        } catch {
            let isData = (error as? PostgresError)?.isDataFault ?? false
            guard isLastAttempt || isData else { throw error }
            logger.error(
                "a notification of the App Store cannot be processed",
                ["uuid": .string(uuid.description), "error": .error(error)]
            )
            metrics.count(.failed)
            try await pausing {
                try await store.session { session in
                    try await session.settle(
                        environment: environment.rawValue,
                        uuid: uuid,
                        .init(state: "failed", outcome: LifecycleRules.Outcome.failed.rawValue)
                    )
                }
            }
            throw UnrecoverableFailure("\(error)")
        }
    }

    // MARK: Notifications

    /// - Returns: `nil` when the notification is gone or settled already.
    func process(_ uuid: UUIDBits, _ environment: AppStoreEnvironment) async throws -> LifecycleRules.Outcome? {
        let outcome = try await store.session { session -> LifecycleRules.Outcome? in
            guard let kept = try await session.notification(environment: environment.rawValue, uuid: uuid),
                kept.state == "received"
            else { return nil }
            guard let notification = AppStoreNotification(facts: kept.facts, environment: environment, uuid: uuid)
            else {
                try await session.settle(
                    environment: environment.rawValue,
                    uuid: uuid,
                    .init(state: "failed", outcome: LifecycleRules.Outcome.failed.rawValue)
                )
                return .failed
            }
            if !LifecycleRules.knownTypes.contains(notification.type) { metrics.countUnknownType() }
            let settlement = try await apply(notification, session)
            try await session.settle(environment: environment.rawValue, uuid: uuid, settlement)
            return LifecycleRules.Outcome(rawValue: settlement.outcome)
        }
        if let outcome { metrics.count(outcome) }
        return outcome
    }

    private func apply(
        _ notification: AppStoreNotification,
        _ session: SubscriptionSession
    ) async throws -> SubscriptionSession.Settlement {
        guard LifecycleRules.concernsSubscription(notification), let id = notification.originalTransactionID else {
            return .init(state: "done", outcome: LifecycleRules.Outcome.recorded.rawValue)
        }
        var record = try await session.subscription(environment: notification.environment.rawValue, id: id)
        checkpoint(.locked)
        if record.user == nil {
            let token = notification.transaction?.appAccountToken.flatMap { UUIDBits($0) } ?? record.appAccountToken
            if let token { record.user = try await session.user(forToken: token) }
        }
        return try await settle(notification, record, session)
    }

    private func settle(
        _ notification: AppStoreNotification,
        _ record: SubscriptionRecord,
        _ session: SubscriptionSession
    ) async throws -> SubscriptionSession.Settlement {
        let now = clock.now
        var judgement = LifecycleRules.judge(notification, record, now: now)
        if judgement.announcement == .subscriptionExpired, try await session.hasOther(than: judgement.record, at: now) {
            judgement.announcement = nil
            judgement.outcome = .otherActive
        }
        let source = LifecycleNotices.source(record.originalTransactionID)
        if let reason = judgement.callsBack {
            try await session.callBack(source: source, before: now, reason: reason)
        }
        var messageID: UUIDBits?
        if let event = judgement.announcement {
            messageID = try await announce(event, &judgement.record, happenedAt: notification.signedAt, session)
        }
        try await session.save(judgement.record)
        return .init(
            state: judgement.outcome == .unlinked ? "unlinked" : "done",
            outcome: judgement.outcome.rawValue,
            event: judgement.announcement?.rawValue,
            messageID: messageID
        )
    }

    /// Puts a notice on the queue and notes it in the record, which the caller saves.
    func announce(
        _ event: LifecycleEvent,
        _ record: inout SubscriptionRecord,
        happenedAt moment: Timestamp,
        _ session: SubscriptionSession
    ) async throws -> UUIDBits? {
        guard let user = record.user.flatMap(UserID.init) else { return nil }
        let subject = LifecycleNotices.Subject(
            originalTransactionID: record.originalTransactionID,
            productID: record.productID,
            periodEnd: record.expiresAt
        )
        let audience = try await session.audience(of: user.rawValue, at: record.expiresAt)
        if event == .subscriptionExpiring, !notices.names(record.productID) { metrics.countUnnamedProduct() }
        let receipt = try await bus.enqueueNotification(
            NotificationRequest(
                job: notices.job(user, event, subject, audience),
                messageID: notices.messageID(user, event, subject, at: moment)
            )
        )
        record.noteTold(event)
        metrics.count(event)
        checkpoint(.announced)
        return receipt.messageID.bits
    }

    // MARK: Links

    /// Ties a subscription to a user who showed a transaction of it, if it is nobody's and may be the user's.
    func link(_ user: String, to id: String, _ environment: AppStoreEnvironment) async throws -> String {
        try await store.session { session in
            guard let claims = try await session.link(environment: environment.rawValue, id: id, user: user) else {
                return "gone"
            }
            var record = try await session.subscription(environment: environment.rawValue, id: id)
            checkpoint(.locked)
            record.apply(AppStoreTransaction(claims: claims))
            let isGranted = record.user == user || (record.user == nil && record.mayBelong(to: user))
            if isGranted {
                let isNew = record.user == nil
                record.user = user
                try await session.save(record)
                if isNew { try await catchUp(record, environment, session) }
            }
            try await session.settleLink(
                environment: environment.rawValue,
                id: id,
                user: user,
                isGranted: isGranted
            )
            metrics.countLink(isGranted)
            return isGranted ? "linked" : "refused"
        }
    }

    /// Says what could not be said while nobody was known to own the subscription, as long as it is fresh and still true.
    private func catchUp(
        _ record: SubscriptionRecord,
        _ environment: AppStoreEnvironment,
        _ session: SubscriptionSession
    ) async throws {
        guard
            let held = try await session.takeUnlinked(
                environment: environment.rawValue,
                id: record.originalTransactionID
            ), let notification = AppStoreNotification(facts: held.facts, environment: environment, uuid: held.uuid)
        else { return }
        let settlement = try await settle(notification, record, session)
        try await session.settle(environment: environment.rawValue, uuid: held.uuid, settlement)
    }
}
