import Foundation
import Kernel
import Producers
import Signing

/// How fast notifications of the App Store are verified, on one thread: three signatures each, and the chain's four where it is new.
struct WebhookBench {
    private static let bundleID = "com.example.app"
    private let seconds: Double

    init(environment: [String: String]) {
        seconds = environment["BENCH_SECONDS"].flatMap(Double.init) ?? 5
    }

    func run() async throws {
        let now = SystemWallClock().now
        let maker = try ChainMaker(now: now)
        let bodies = try (0..<256).map { try body(maker, number: $0, now: now) }
        let chains = try ChainVerifier(roots: [X509Certificate(der: maker.root)], rules: .appStore)
        let warm = verifier(chains)
        let cached = try await rate(bodies) { _ in warm }
        let cold = try await rate(bodies) { _ in verifier(chains) }
        print("webhook_verified_per_s", String(format: "%.0f", cached), "1/s")
        print("webhook_cold_per_s", String(format: "%.0f", cold), "1/s")
        print("webhook_body_bytes", bodies[0].count, "B")
    }

    private func verifier(_ chains: ChainVerifier) -> AppStoreVerifier {
        AppStoreVerifier(
            signed: SignedDataVerifier(chains: chains, clock: SystemWallClock()),
            bundleID: Self.bundleID,
            appAppleID: 1234
        )
    }

    /// Bodies a second, from the bytes of the request to the facts.
    private func rate(_ bodies: [[UInt8]], _ verifier: (Int) -> AppStoreVerifier) async throws -> Double {
        var count = 0
        let start = ContinuousClock.now
        let end = start + .milliseconds(Int64(seconds * 1000))
        while ContinuousClock.now < end {
            for body in bodies {
                guard let payload = try JSONValue(parsing: body)["signedPayload"]?.stringValue else {
                    throw BenchError(description: "a body without a payload")
                }
                let found = try await verifier(count).notification(payload, environment: .production)
                guard found.transaction != nil else { throw BenchError(description: "a notification without facts") }
                count += 1
            }
        }
        return Double(count) / (ContinuousClock.now - start).inSeconds
    }

    private func body(_ maker: ChainMaker, number: Int, now: Timestamp) throws -> [UInt8] {
        let transaction: JSONValue = [
            "transactionId": .string("20000\(number)"), "originalTransactionId": .string("10000\(number)"),
            "bundleId": .string(Self.bundleID), "productId": "com.example.app.pro.monthly", "environment": "Production",
            "type": "Auto-Renewable Subscription", "subscriptionGroupIdentifier": "20876543", "quantity": 1,
            "inAppOwnershipType": "PURCHASED", "transactionReason": "RENEWAL", "storefront": "NOR",
            "storefrontId": "143457",
            "price": 99000, "currency": "NOK", "appAccountToken": "7e3fb204-2ad5-4f5b-9d3c-1f9c3b9a9a01",
            "purchaseDate": .integer(now.milliseconds), "originalPurchaseDate": .integer(now.milliseconds),
            "expiresDate": .integer(now.milliseconds), "signedDate": .integer(now.milliseconds),
        ]
        let renewal: JSONValue = [
            "originalTransactionId": .string("10000\(number)"), "autoRenewProductId": "com.example.app.pro.monthly",
            "productId": "com.example.app.pro.monthly", "autoRenewStatus": 1, "isInBillingRetryPeriod": true,
            "gracePeriodExpiresDate": .integer(now.milliseconds), "environment": "Production", "expirationIntent": 2,
            "recentSubscriptionStartDate": .integer(now.milliseconds), "renewalDate": .integer(now.milliseconds),
            "signedDate": .integer(now.milliseconds),
        ]
        let signed = try maker.sign([
            "notificationType": "DID_FAIL_TO_RENEW", "subtype": "GRACE_PERIOD", "version": "2.0",
            "notificationUUID": .string(
                UUIDBits(high: 0x4000, low: 0x8000_0000_0000_0000 | UInt64(number)).description
            ),
            "signedDate": .integer(now.milliseconds),
            "data": [
                "bundleId": .string(Self.bundleID), "bundleVersion": "100", "appAppleId": 1234,
                "environment": "Production",
                "status": 4, "signedTransactionInfo": .string(try maker.sign(transaction)),
                "signedRenewalInfo": .string(try maker.sign(renewal)),
            ],
        ])
        let body: JSONValue = ["signedPayload": .string(signed)]
        return body.utf8
    }
}
