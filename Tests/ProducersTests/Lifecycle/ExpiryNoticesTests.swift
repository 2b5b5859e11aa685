import HTTPFetch
import HTTPServer
import Kernel
import Observability
import PostgresClient
import Signing
import Store
import Synchronization
import TestSupport
import Testing

@testable import Producers

/// The notice three days before the end, in each owner's own day (P6).
struct ExpiryNoticesTests {
    /// Monday 2026-12-07, 12:00 in UTC.
    private static let noon = Timestamp(milliseconds: 1_796_644_800_000)
    private static let day = Duration.seconds(86_400)

    private func notices(_ fixture: LifecycleFixture, api: AppStoreServerAPI? = nil, zone: String = "UTC")
        -> ExpiryNotices
    {
        ExpiryNotices(
            store: fixture.store,
            producer: fixture.producer(),
            api: api,
            defaultZone: zone,
            clock: fixture.clock,
            telemetry: fixture.telemetry
        )
    }

    private func subscribe(
        _ fixture: LifecycleFixture,
        user: String = "u1",
        id: String = "1000",
        ends: Timestamp,
        change: (inout SubscriptionRecord) -> Void = { _ in }
    ) async throws {
        var record = SubscriptionRecord(environment: "production", originalTransactionID: id)
        record.user = user
        record.status = 1
        record.autoRenews = false
        record.expiresAt = ends
        record.productID = "pro"
        record.subscriptionGroup = "group"
        change(&record)
        let made = record
        try await fixture.store.session { session in
            _ = try await session.subscription(environment: made.environment, id: made.originalTransactionID)
            try await session.save(made)
        }
    }

    @Test func `three days before the end the owner is told, with tier and date in language and zone (P6)`()
        async throws
    {
        try await LifecycleFixture.run(start: Self.noon) { fixture in
            try await fixture.register("u1", language: "nb-NO", zone: "Pacific/Auckland")
            // 12:30 UTC on the 9th is the 10th in Auckland, and there it is one in the night now.
            let ends = Self.noon + Self.day * 2 + .seconds(1800)
            try await subscribe(fixture, ends: ends)
            #expect(try await notices(fixture).run() == 0)
            // 20:00 UTC: nine in the morning of the 8th in Auckland.
            fixture.clock.advance(by: .seconds(8 * 3600))
            #expect(try await notices(fixture).run() == 1)
            let job = try #require(try await fixture.jobs().first)
            #expect(job["text"]?["key"] == "lifecycle.subscription_expiring")
            #expect(job["text"]?["variables"]?["tierName"] == "Pro-planen")
            #expect(job["text"]?["variables"]?["expiryDate"] == "10. desember 2026")
            #expect(job["languageCode"] == "nb")
            #expect(job["sourceEntityId"] == "sub:1000")
        }
    }

    @Test func `once for a period, however often and wherever it runs (P6)`() async throws {
        try await LifecycleFixture.run(start: Self.noon) { fixture in
            try await fixture.register("u1", zone: "UTC")
            try await subscribe(fixture, ends: Self.noon + Self.day * 3)
            let counts = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<6 { group.addTask { try await notices(fixture).run() } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(counts.reduce(0, +) == 1)
            fixture.clock.advance(by: Self.day)
            #expect(try await notices(fixture).run() == 0)
            // The next period is another one.
            try await subscribe(fixture, ends: Self.noon + Self.day * 4) {
                $0.announced = ["subscription_expiring": (Self.noon + Self.day * 3).milliseconds]
            }
            #expect(try await notices(fixture).run() == 1)
        }
    }

    @Test(
        arguments: [
            // (zone, hours from noon, told)
            ("UTC", -4.0, false), ("UTC", -3.0, true), ("UTC", 8.99, true), ("UTC", 9.0, false),
            ("Asia/Kathmandu", -8.76, false), ("Asia/Kathmandu", -8.75, true), ("America/Los_Angeles", 4.99, false),
            ("America/Los_Angeles", 5.0, true), (nil, -0.01, false), (nil, 0.0, true), (nil, 4.99, true),
            (nil, 5.0, false),
        ] as [(String?, Double, Bool)]
    )
    func `nobody is told at night, and owners of unknown zone between 12 and 17`(
        _ zone: String?,
        _ hours: Double,
        _ isTold: Bool
    ) async throws {
        let now = Self.noon + .milliseconds(Int64(hours * 3_600_000))
        try await LifecycleFixture.run(start: now) { fixture in
            try await fixture.register("u1", zone: zone)
            try await subscribe(fixture, ends: Self.noon + Self.day * 2)
            #expect(try await notices(fixture).run() == (isTold ? 1 : 0))
        }
    }

    @Test(
        arguments: [
            // From the fourth day before nothing yet, on the third yes, and not in the last half day.
            (96, false), (72, true), (83.9, true), (84.1, false), (24, true), (12, true),
            (11.9, false), (-1, false),
        ] as [(Double, Bool)]
    )
    func `the third day before the end by the calendar, and not at the last moment`(
        _ hours: Double,
        _ isTold: Bool
    ) async throws {
        try await LifecycleFixture.run(start: Self.noon) { fixture in
            try await fixture.register("u1", zone: "UTC")
            try await subscribe(fixture, ends: Self.noon + .milliseconds(Int64(hours * 3_600_000)))
            #expect(try await notices(fixture).run() == (isTold ? 1 : 0))
        }
    }

    @Test func `only what truly ends and is the reader's to renew`() async throws {
        let others: [(String, (inout SubscriptionRecord) -> Void)] = [
            ("renews", { $0.autoRenews = true }), ("unknown", { $0.autoRenews = nil }), ("retry", { $0.status = 3 }),
            ("grace", { $0.status = 4 }), ("expired", { $0.status = 2 }), ("revoked", { $0.revokedAt = Self.noon }),
            ("family", { $0.isFamilyShared = true }),
            ("commitment", { $0.commitmentExpiresAt = Self.noon + Self.day * 100 }), ("unlinked", { $0.user = nil }),
        ]
        try await LifecycleFixture.run(start: Self.noon) { fixture in
            for (name, change) in others {
                try await fixture.register(name, zone: "UTC")
                try await subscribe(fixture, user: name, id: name, ends: Self.noon + Self.day * 3, change: change)
            }
            #expect(try await notices(fixture).run() == 0)
            try await fixture.register("u1", zone: "UTC")
            try await subscribe(fixture, ends: Self.noon + Self.day * 3) {
                $0.commitmentExpiresAt = Self.noon + Self.day * 3
            }
            #expect(try await notices(fixture).run() == 1)
            // A subscription of the same group that goes on makes the end of the other no news.
            try await subscribe(fixture, id: "2000", ends: Self.noon + Self.day * 30) { $0.autoRenews = true }
            try await subscribe(fixture, id: "3000", ends: Self.noon + Self.day * 3)
            #expect(try await notices(fixture).run() == 0)
        }
    }

    @Test func `many are gone through in pages`() async throws {
        try await LifecycleFixture.run(start: Self.noon) { fixture in
            _ = try await fixture.database.pool.query(
                """
                INSERT INTO subscriptions (environment, original_transaction_id, user_id, status, auto_renews, expires_at)
                SELECT 'production', 's' || n, 'u' || n, 1, false, \(Self.noon + Self.day * 2)
                FROM generate_series(1, 450) n
                """
            )
            #expect(try await notices(fixture).run() == 450)
            #expect(try await notices(fixture).run() == 0)
            #expect(fixture.telemetry.metrics.render().contains("lifecycle_unnamed_products_total 450"))
        }
    }

    // MARK: Apple's server

    /// Apple's server, played on 127.0.0.1.
    private final class Apple: Sendable {
        let maker: ChainMaker
        let answer = Mutex<HTTPResponse>(HTTPResponse(status: 500))
        let asked = Mutex<[HTTPRequest]>([])
        private let server: HTTPServer
        let key: SigningKey

        init(now: Timestamp) throws {
            maker = try ChainMaker(now: now)
            key = try SigningKey(pem: ECKey.generateP256().privatePEM, keyID: "KEY1234567")
            let box = Box()
            var router = Router()
            router.on(.get, "/inApps/v1/subscriptions/{id}") { request in
                guard let apple = box.apple.withLock({ $0 }) else { return HTTPResponse(status: 500) }
                apple.asked.withLock { $0.append(request) }
                return apple.answer.withLock { $0 }
            }
            server = try HTTPServer.start(
                options: HTTPServerOptions(listen: "127.0.0.1:0"),
                desk: RequestDeskOptions(problemTypePrefix: "urn:test:"),
                router: router,
                telemetry: .silent()
            )
            box.apple.withLock { $0 = self }
        }

        private final class Box: Sendable {
            let apple = Mutex<Apple?>(nil)
        }

        func api(_ clock: any WallClock) throws -> AppStoreServerAPI {
            let chains = try ChainVerifier(roots: [X509Certificate(der: maker.root)], rules: .appStore)
            return AppStoreServerAPI(
                fetch: HTTPFetch(options: AppStoreServerAPI.options, telemetry: .silent()),
                baseURL: "http://127.0.0.1:\(server.port)",
                key: key,
                issuerID: "issuer-1",
                bundleID: "com.example.app",
                verifier: AppStoreVerifier(
                    signed: SignedDataVerifier(chains: chains, clock: clock),
                    bundleID: "com.example.app",
                    appAppleID: 1
                ),
                clock: clock
            )
        }

        func says(
            _ id: String = "1000",
            status: Int = 1,
            autoRenews: Bool = false,
            ends: Timestamp,
            now: Timestamp,
            maker other: ChainMaker? = nil
        ) throws {
            let maker = other ?? maker
            let transaction: JSONValue = [
                "originalTransactionId": .string(id), "bundleId": "com.example.app", "environment": "Production",
                "productId": "pro", "type": "Auto-Renewable Subscription", "subscriptionGroupIdentifier": "group",
                "signedDate": .integer(now.milliseconds), "expiresDate": .integer(ends.milliseconds),
            ]
            let renewal: JSONValue = [
                "originalTransactionId": .string(id), "environment": "Production",
                "autoRenewStatus": .integer(autoRenews ? 1 : 0), "signedDate": .integer(now.milliseconds),
            ]
            let entry: JSONValue = [
                "originalTransactionId": .string(id), "status": .integer(status),
                "signedTransactionInfo": .string(try maker.sign(transaction)),
                "signedRenewalInfo": .string(try maker.sign(renewal)),
            ]
            let body: JSONValue = [
                "environment": "Production", "bundleId": "com.example.app",
                "data": [["subscriptionGroupIdentifier": "group", "lastTransactions": [entry]]],
            ]
            answer.withLock { $0 = .json(body) }
        }

        func stop() async { await server.stop(deadline: .seconds(5)) }
    }

    private func withApple(_ body: (LifecycleFixture, Apple) async throws -> Void) async throws {
        try await LifecycleFixture.run(start: Self.noon) { fixture in
            let apple = try Apple(now: Self.noon)
            try await fixture.register("u1", zone: "UTC")
            try await subscribe(fixture, ends: Self.noon + Self.day * 3)
            do {
                try await body(fixture, apple)
            } catch {
                await apple.stop()
                throw error
            }
            await apple.stop()
        }
    }

    @Test func `where there is a key Apple is asked first, with a token it takes (P6)`() async throws {
        try await withApple { fixture, apple in
            try apple.says(ends: Self.noon + Self.day * 3, now: Self.noon)
            #expect(try await notices(fixture, api: try apple.api(fixture.clock)).run() == 1)
            let request = try #require(apple.asked.withLock { $0.first })
            #expect(request.path == "/inApps/v1/subscriptions/1000")
            let token = try #require(request.headers["authorization"]?.split(separator: " ").last.map(String.init))
            let claims = try JWSVerifier(keys: [apple.key.verificationKey]).verify(token)
            #expect(claims.header["kid"] == "KEY1234567")
            #expect(claims.payload["iss"] == "issuer-1")
            #expect(claims.payload["aud"] == "appstoreconnect-v1")
            #expect(claims.payload["bid"] == "com.example.app")
            let lifetime = (claims.payload["exp"]?.integerValue ?? 0) - Self.noon.seconds
            #expect((1...3600).contains(lifetime))
        }
    }

    @Test(arguments: ["renews again", "moved", "expired", "in retry"])
    func `what Apple says now goes before what was known (P6)`(_ change: String) async throws {
        try await withApple { fixture, apple in
            let ends = Self.noon + Self.day * (change == "moved" ? 30 : 3)
            let status = change == "expired" ? 2 : change == "in retry" ? 3 : 1
            try apple.says(status: status, autoRenews: change == "renews again", ends: ends, now: Self.noon)
            #expect(try await notices(fixture, api: try apple.api(fixture.clock)).run() == 0)
            #expect(try await fixture.jobs().isEmpty)
            #expect(try await fixture.lines("SELECT status::text AS line FROM subscriptions") == ["\(status)"])
        }
    }

    @Test(arguments: [429, 500, 503, 404, 401])
    func `without an answer nothing is said, and the next run asks again (P6)`(_ status: Int) async throws {
        try await withApple { fixture, apple in
            apple.answer.withLock { $0 = HTTPResponse(status: status) }
            let run = notices(fixture, api: try apple.api(fixture.clock))
            #expect(try await run.run() == 0)
            fixture.clock.advance(by: .seconds(900))
            try apple.says(ends: Self.noon + Self.day * 3, now: Self.noon)
            #expect(try await run.run() == 1)
        }
    }

    @Test func `an answer that Apple did not sign is not believed`() async throws {
        try await withApple { fixture, apple in
            let forger = try ChainMaker(now: Self.noon)
            try apple.says(ends: Self.noon + Self.day * 3, now: Self.noon, maker: forger)
            #expect(try await notices(fixture, api: try apple.api(fixture.clock)).run() == 0)
            #expect(fixture.telemetry.metrics.render().contains(#"lifecycle_expiry_checks_total{outcome="refused"} 1"#))
        }
    }
}
