import Kernel
import Notifications
import PostgresClient
import Store
import TestSupport
import Testing

@testable import Producers

/// What the lifecycle producer would say to a user now (G8).
struct LifecycleVoiceTests {
    private static let now = LifecycleFixture.start

    private static func record(_ status: Int?, _ change: (inout SubscriptionRecord) -> Void = { _ in })
        -> SubscriptionRecord
    {
        var record = SubscriptionRecord(environment: "production", originalTransactionID: "1000")
        (record.status, record.expiresAt) = (status, now - .seconds(3600))
        change(&record)
        return record
    }

    private static let cases: [(SubscriptionRecord, isExpiring: Bool, LifecycleEvent?)] = [
        (record(1), false, nil), (record(1), true, .subscriptionExpiring), (record(2), false, .subscriptionExpired),
        (record(2) { $0.expiresAt = now - .seconds(25 * 3600) }, false, nil), (record(3), false, .renewalFailed),
        (record(3) { $0.graceExpiresAt = now - .seconds(1) }, false, .gracePeriodExpired),
        (record(3) { $0.graceExpiresAt = now + .seconds(1) }, false, .renewalFailed),
        (record(4), false, .renewalFailed), (record(5), false, nil), (record(nil), false, nil),
        (record(4) { $0.noteTold(.renewalFailed) }, false, nil),
        (record(4) { $0.isFamilyShared = true }, false, nil),
        (record(2) { $0.isFamilyShared = true }, false, .subscriptionExpired),
        (record(4) { $0.revokedAt = now }, false, nil),
    ]

    @Test(arguments: cases)
    func `a subscription's state stands for the notice that was not told yet (G8)`(
        record: SubscriptionRecord,
        isExpiring: Bool,
        event: LifecycleEvent?
    ) {
        #expect(LifecycleVoice.event(record, isExpiring: isExpiring, now: Self.now) == event)
    }

    @Test func `the notice is in the user's language, with the name and the date (G8, P9)`() async throws {
        try await LifecycleFixture.run { fixture in
            let voice = LifecycleVoice(
                store: fixture.store,
                notices: fixture.notices,
                defaultZone: "UTC",
                clock: fixture.clock
            )
            let user = try #require(UserID("u1"))
            #expect(try await voice.words(for: user) == .silent(reason: "no_subscription"))
            _ = try await fixture.database.pool.query(
                """
                INSERT INTO user_notification_preferences (user_id, language, timezone) VALUES ('u1', 'nb-NO', 'Europe/Oslo')
                """
            )
            // Noon on a wall in Oslo, three days before the end.
            fixture.clock.advance(by: .seconds(11 * 3600) - .seconds(Int(fixture.clock.now.seconds % 86_400)))
            _ = try await fixture.database.pool.query(
                """
                INSERT INTO subscriptions (environment, original_transaction_id, user_id, product_id, status, auto_renews,
                    expires_at)
                VALUES ('production', '1000', 'u1', 'pro', 1, false, \(fixture.clock.now + .seconds(3 * 86_400)))
                """
            )
            guard case .says(let key, let variables) = try await voice.words(for: user) else {
                Issue.record("it says nothing")
                return
            }
            #expect(key == "lifecycle.subscription_expiring")
            #expect(variables.strings["tierName"] == "Pro-planen")
            #expect(variables.strings["expiryDate"]?.contains("2026") == true)
            _ = try await fixture.database.pool.query("UPDATE subscriptions SET auto_renews = true")
            #expect(try await voice.words(for: user) == .silent(reason: "nothing_new"))
        }
    }
}
