import Kernel
import Store
import Testing

@testable import Producers

/// What each notification does, without any server: the mapping and its pitfalls (P6).
struct LifecycleRulesTests {
    private static let now = Timestamp(milliseconds: 1_796_083_200_000)
    private static let end = now + .seconds(3600)

    private func notification(
        _ type: String,
        _ subtype: String? = nil,
        at moment: Timestamp = now,
        environment: AppStoreEnvironment = .production,
        status: Int? = nil,
        change: (inout AppStoreNotification) -> Void = { _ in }
    ) -> AppStoreNotification {
        var transaction = AppStoreTransaction(originalTransactionID: "1000", signedAt: moment)
        transaction.isAutoRenewable = true
        transaction.expiresAt = Self.end
        transaction.productID = "pro"
        var renewal = AppStoreRenewal(originalTransactionID: "1000", signedAt: moment)
        renewal.autoRenews = true
        var made = AppStoreNotification(
            environment: environment,
            uuid: UUIDBits(high: 1, low: 2),
            type: type,
            subtype: subtype,
            signedAt: moment,
            status: status,
            transaction: transaction,
            renewal: renewal
        )
        change(&made)
        return made
    }

    private func record(user: String? = "u1") -> SubscriptionRecord {
        var record = SubscriptionRecord(environment: "production", originalTransactionID: "1000")
        record.user = user
        return record
    }

    @Test(
        arguments: [
            ("DID_FAIL_TO_RENEW", "GRACE_PERIOD", .renewalFailed, 4),
            ("DID_FAIL_TO_RENEW", nil, .renewalFailed, 3), ("GRACE_PERIOD_EXPIRED", nil, .gracePeriodExpired, 3),
            ("EXPIRED", "VOLUNTARY", .subscriptionExpired, 2), ("EXPIRED", "BILLING_RETRY", .subscriptionExpired, 2),
            ("EXPIRED", "PRICE_INCREASE", .subscriptionExpired, 2),
            ("EXPIRED", "PRODUCT_NOT_FOR_SALE", .subscriptionExpired, 2),
            ("EXPIRED", nil, .subscriptionExpired, 2), ("EXPIRED", "SOMETHING_NEW", .subscriptionExpired, 2),
        ] as [(String, String?, LifecycleEvent, Int)]
    )
    func `what the user must know is announced (P6)`(
        _ type: String,
        _ subtype: String?,
        _ event: LifecycleEvent,
        _ status: Int
    ) {
        let judgement = LifecycleRules.judge(notification(type, subtype), record(), now: Self.now)
        #expect(judgement.announcement == event)
        #expect(judgement.outcome == .announced)
        #expect(judgement.record.status == status)
        #expect(judgement.record.expiresAt == Self.end)
    }

    @Test(
        arguments: [
            ("DID_RENEW", nil, "renewed", 1), ("DID_RENEW", "BILLING_RECOVERY", "renewed", 1),
            ("SUBSCRIBED", "RESUBSCRIBE", "renewed", 1), ("RENEWAL_EXTENDED", nil, "extended", 1),
            ("REFUND_REVERSED", nil, "refund_reversed", 1), ("REFUND", nil, "revoked", 5),
            ("REVOKE", nil, "revoked", 5),
            ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED", "auto_renew_enabled", 7),
        ] as [(String, String?, String, Int)]
    )
    func `what makes pending notices untrue calls them back (P6)`(
        _ type: String,
        _ subtype: String?,
        _ reason: String,
        _ status: Int
    ) {
        var known = record()
        known.status = 7
        let judgement = LifecycleRules.judge(notification(type, subtype), known, now: Self.now)
        #expect(judgement.announcement == nil)
        #expect(judgement.callsBack == reason)
        #expect(judgement.record.status == status)
    }

    @Test(arguments: ["DID_CHANGE_RENEWAL_PREF", "OFFER_REDEEMED", "PRICE_INCREASE", "DID_CHANGE_RENEWAL_STATUS"])
    func `changes of product and renewal are applied without a word`(_ type: String) {
        let made = notification(type, change: { $0.renewal?.autoRenews = false })
        let judgement = LifecycleRules.judge(made, record(), now: Self.now)
        #expect(judgement.outcome == .applied)
        #expect(judgement.callsBack == nil)
        #expect(judgement.record.autoRenews == false)
        #expect(judgement.record.productID == "pro")
    }

    @Test(arguments: [
        "TEST", "CONSUMPTION_REQUEST", "REFUND_DECLINED", "ONE_TIME_CHARGE", "EXTERNAL_PURCHASE_TOKEN",
        "RENEWAL_EXTENSION", "RESCIND_CONSENT", "METADATA_UPDATE", "MIGRATION", "PRICE_CHANGE", "SOMETHING_NEW", "",
    ])
    func `everything else is recorded and changes nothing`(_ type: String) {
        let judgement = LifecycleRules.judge(notification(type), record(), now: Self.now)
        #expect(judgement.outcome == .recorded)
        #expect(judgement.record == record())
    }

    @Test func `a refund of something bought once is no matter of a subscription`() {
        let made = notification("REFUND", change: { $0.transaction?.isAutoRenewable = false })
        #expect(LifecycleRules.judge(made, record(), now: Self.now).outcome == .recorded)
    }

    @Test func `Apple's own word about the status goes before ours`() {
        let made = notification("DID_FAIL_TO_RENEW", "GRACE_PERIOD", status: 3)
        #expect(LifecycleRules.judge(made, record(), now: Self.now).record.status == 3)
    }

    @Test func `what is older than the newest applied says and changes nothing`() {
        var known = record()
        known.eventSignedAt = Self.now
        known.transactionSignedAt = Self.now
        known.renewalSignedAt = Self.now
        known.status = 1
        known.expiresAt = Self.end + .seconds(86_400)
        let late = notification("DID_FAIL_TO_RENEW", at: Self.now - .milliseconds(1))
        let judgement = LifecycleRules.judge(late, known, now: Self.now)
        #expect(judgement.outcome == .outdated)
        #expect(judgement.record == known)
        #expect(judgement.callsBack == nil)
    }

    @Test func `parts are as fresh as their own signatures`() {
        var known = record()
        known.transactionSignedAt = Self.now + .seconds(10)
        known.expiresAt = Self.end + .seconds(86_400)
        // The notification is new, the transaction within is not.
        let judgement = LifecycleRules.judge(notification("DID_CHANGE_RENEWAL_PREF"), known, now: Self.now)
        #expect(judgement.record.expiresAt == Self.end + .seconds(86_400))
        #expect(judgement.record.renewalSignedAt == Self.now)
    }

    @Test func `a day after it was signed an event is applied and not announced`() {
        let day = Duration.seconds(86_400)
        let just = LifecycleRules.judge(notification("EXPIRED", at: Self.now - day), record(), now: Self.now)
        #expect(just.outcome == .announced)
        let late = notification("EXPIRED", at: Self.now - day - .milliseconds(1))
        let judgement = LifecycleRules.judge(late, record(), now: Self.now)
        #expect(judgement.outcome == .late)
        #expect(judgement.record.status == 2)
    }

    @Test func `the sandbox never reaches a user`() {
        let made = notification("EXPIRED", environment: .sandbox)
        let judgement = LifecycleRules.judge(made, record(), now: Self.now)
        #expect(judgement.outcome == .sandbox)
        #expect(judgement.announcement == nil)
    }

    @Test func `a family member is told of the end, not asked to pay`() {
        let shared = { (made: inout AppStoreNotification) -> Void in made.transaction?.isFamilyShared = true }
        for type in ["DID_FAIL_TO_RENEW", "GRACE_PERIOD_EXPIRED"] {
            let judgement = LifecycleRules.judge(notification(type, change: shared), record(), now: Self.now)
            #expect(judgement.outcome == .familyShared)
        }
        let end = LifecycleRules.judge(notification("EXPIRED", change: shared), record(), now: Self.now)
        #expect(end.announcement == .subscriptionExpired)
    }

    @Test(arguments: [LifecycleEvent.renewalFailed, .gracePeriodExpired])
    func `when Apple gives up after weeks, whoever was told of the failure is not told again`(_ told: LifecycleEvent) {
        var known = record()
        known.announced = [told.rawValue: Self.end.milliseconds]
        let judgement = LifecycleRules.judge(notification("EXPIRED", "BILLING_RETRY"), known, now: Self.now)
        #expect(judgement.outcome == .alreadySaid)
        // Of an earlier period they were told of something else.
        known.announced = [told.rawValue: Self.end.milliseconds - 1]
        let other = LifecycleRules.judge(notification("EXPIRED", "BILLING_RETRY"), known, now: Self.now)
        #expect(other.announcement == .subscriptionExpired)
        // Who cancels during the retries ends it by choice.
        known.announced = [told.rawValue: Self.end.milliseconds]
        let chosen = LifecycleRules.judge(notification("EXPIRED", "VOLUNTARY"), known, now: Self.now)
        #expect(chosen.announcement == .subscriptionExpired)
    }

    @Test func `the same event of the same period is said once`() {
        var known = record()
        known.announced = [LifecycleEvent.renewalFailed.rawValue: Self.end.milliseconds]
        let again = LifecycleRules.judge(notification("DID_FAIL_TO_RENEW"), known, now: Self.now)
        #expect(again.outcome == .alreadySaid)
    }

    @Test func `without an owner an event is held`() {
        let judgement = LifecycleRules.judge(notification("EXPIRED"), record(user: nil), now: Self.now)
        #expect(judgement.outcome == .unlinked)
        #expect(judgement.record.status == 2)
    }

    @Test func `oddities that were reported do no harm`() {
        // A grace period without its end, and a failure with auto-renewal off.
        let odd = notification("DID_FAIL_TO_RENEW", "GRACE_PERIOD", change: { $0.renewal?.autoRenews = false })
        #expect(LifecycleRules.judge(odd, record(), now: Self.now).announcement == .renewalFailed)
        let bare = notification("EXPIRED", change: { $0.renewal = nil })
        #expect(LifecycleRules.judge(bare, record(), now: Self.now).announcement == .subscriptionExpired)
        let without = notification("EXPIRED", change: { $0.transaction = nil })
        #expect(LifecycleRules.judge(without, record(), now: Self.now).announcement == .subscriptionExpired)
    }

    @Test func `facts survive the outbox`() throws {
        var made = notification("DID_FAIL_TO_RENEW", "GRACE_PERIOD", status: 4)
        made.transaction?.appAccountToken = "7e3fb204-2ad5-4f5b-9d3c-1f9c3b9a9a01"
        made.transaction?.subscriptionGroup = "g"
        made.transaction?.isFamilyShared = true
        made.transaction?.revokedAt = Self.now
        made.transaction?.commitmentExpiresAt = Self.end
        made.renewal?.graceExpiresAt = Self.end
        made.renewal?.nextProductID = "basic"
        let read = AppStoreNotification(
            facts: try JSONValue(parsing: made.facts.text),
            environment: made.environment,
            uuid: made.uuid
        )
        #expect(read == made)
    }
}
