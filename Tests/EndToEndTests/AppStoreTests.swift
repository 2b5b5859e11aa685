import Foundation
import HTTPFetch
import JobQueue
import Kernel
import Observability
import PostgresClient
import Producers
import PushSimulator
import RedisClient
import Signing
import Store
import TestSupport
import Testing

/// From what Apple signs to what the phone shows, through real processes (P6).
@Suite(.serialized)
struct AppStoreTests {
    /// A stage with one user whose id is an account token, and a store that signs for the app.
    private struct Scene {
        let stage: Stage
        let maker: ChainMaker
        let user: String
        let settings: [String: String]
        let now = SystemWallClock().now

        init(_ stage: Stage) async throws {
            self.stage = stage
            maker = try ChainMaker(now: now)
            let root = stage.folder.appendingPathComponent("root.der")
            try Data(maker.root).write(to: root)
            let prefix = "7e3fb204-2ad5-4f5b-9d3c-\(Hex.encode((0..<5).map { _ in UInt8.random(in: 0...255) }))0"
            user = prefix + "1"
            try await stage.addUsers(1, prefix: prefix)
            settings = [
                "APPSTORE_ROOT_CA_FILE": root.path, "APPSTORE_BUNDLE_ID": Stage.topic, "APPSTORE_APP_ID": "1234",
                "METRICS_LISTEN": "127.0.0.1:0",
            ]
        }

        func notification(_ type: String, uuid: String) throws -> String {
            let moment = SystemWallClock().now
            let transaction: JSONValue = [
                "originalTransactionId": "1000", "bundleId": .string(Stage.topic), "environment": "Production",
                "productId": "pro", "type": "Auto-Renewable Subscription", "appAccountToken": .string(user),
                "expiresDate": .integer(now.milliseconds), "signedDate": .integer(moment.milliseconds),
            ]
            return try maker.sign([
                "notificationType": .string(type), "notificationUUID": .string(uuid), "version": "2.0",
                "signedDate": .integer(moment.milliseconds),
                "data": [
                    "bundleId": .string(Stage.topic), "appAppleId": 1234, "environment": "Production",
                    "signedTransactionInfo": .string(try maker.sign(transaction)),
                ],
            ])
        }

        /// What is told of a notification that the gateway kept, put into the outbox and on the queue as the gateway does.
        func keep(_ type: String, uuid: String) async throws {
            let chains = try ChainVerifier(roots: [X509Certificate(der: maker.root)], rules: .appStore)
            let verifier = AppStoreVerifier(
                signed: SignedDataVerifier(chains: chains, clock: SystemWallClock()),
                bundleID: Stage.topic,
                appAppleID: 1234
            )
            let signed = try notification(type, uuid: uuid)
            let verified = try await verifier.notification(signed, environment: .production)
            _ = try await AppStoreOutbox(pool: stage.database.pool).keep(
                AppStoreOutbox.Notification(
                    environment: "production",
                    uuid: verified.uuid,
                    type: verified.type,
                    subtype: nil,
                    originalTransactionID: verified.originalTransactionID,
                    signedAt: verified.signedAt,
                    facts: verified.facts,
                    signedPayload: signed
                )
            )
            let queue = JobQueue(
                redis: stage.redis.client,
                name: try QueueName(prefix: stage.redis.prefix, name: LifecycleQueue.name),
                telemetry: .silent()
            )
            try await LifecycleQueue(queue: queue).add([.notification(environment: "production", uuid: verified.uuid)])
        }

        func settled() async throws -> Int {
            try await stage.count("app_store_notifications WHERE state = 'done'")
        }

        func removeCaps() async throws {
            try await stage.redis.removeKeys(matching: "notif:v2:*:\(user):*")
        }
    }

    private static let uuid = "002e14d5-51f5-4503-b5a8-c3a1af68eb20"

    /// Starts the gateway and answers where it listens.
    private func gateway(_ scene: Scene) async throws -> String {
        let key = try ECKey.generateP256()
        let file = scene.stage.folder.appendingPathComponent("jwt.pem")
        try key.publicPEM.write(to: file, atomically: true, encoding: .utf8)
        let process = try scene.stage.start(
            "api-gateway",
            scene.settings.merging(
                [
                    "GATEWAY_LISTEN": "127.0.0.1:0", "JWT_PUBLIC_KEY_FILE": file.path, "JWT_ISSUER": "i",
                    "JWT_AUDIENCE": "a",
                ]
            ) { $1 }
        )
        var port: Int64?
        try await scene.stage.eventually("the gateway listens") {
            let line = process.output.split(separator: "\n").first { $0.contains("\"listening\"") }
            let value = try line.map { try JSONValue(parsing: String($0)) }
            port = value?["port"]?.integerValue ?? value?["fields"]?["port"]?.integerValue
            return port != nil
        }
        return "http://127.0.0.1:\(try #require(port))"
    }

    @Test(.timeLimit(.minutes(3)))
    func `what Apple posts becomes one push on the phone, however often it is posted (P6)`() async throws {
        try await Stage.run { stage in
            let scene = try await Scene(stage)
            let base = try await gateway(scene)
            try stage.start("lifecycle-producer", scene.settings)
            try stage.startWorker()
            var options = FetchOptions(name: "test")
            options.plainHTTP = .loopback
            let fetch = HTTPFetch(options: options, telemetry: .silent())
            let body: JSONValue = [
                "signedPayload": .string(try scene.notification("DID_FAIL_TO_RENEW", uuid: Self.uuid))
            ]
            for _ in 0..<3 {
                let answer = try await fetch.send(
                    FetchRequest(
                        .post,
                        base + "/api/v1/webhooks/app-store/production",
                        headers: [("content-type", "application/json")],
                        body: body.utf8
                    )
                )
                #expect(answer.status == 200)
            }
            await fetch.close()
            try await stage.eventually("a push arrived") { stage.simulator.acceptedCount == 1 }
            try await stage.queueAtRest()
            #expect(stage.simulator.acceptedCount == 1)
            let push = try #require(stage.simulator.pushes().first)
            let payload = try JSONValue(parsing: push.body)
            #expect(
                payload["aps"]?["alert"]?["body"]?.stringValue
                    == "We couldn't renew your subscription. Update your payment info."
            )
            #expect(payload["aps"]?["category"] == "lifecycle")
            #expect(payload["deeplinkUrl"] == "im://profile/subscription")
            try await scene.removeCaps()
        }
    }

    @Test(.timeLimit(.minutes(3)), arguments: LifecycleProducer.Checkpoint.allCases)
    func `a producer killed at any step loses nothing and says nothing twice (P6, E10)`(
        checkpoint: LifecycleProducer.Checkpoint
    ) async throws {
        try await Stage.run { stage in
            let scene = try await Scene(stage)
            try await scene.keep("EXPIRED", uuid: Self.uuid)
            let crash = scene.settings.merging(["VARSEL_CRASH_AT": "\(checkpoint.rawValue):1"]) { $1 }
            let doomed = try stage.start("lifecycle-producer", crash)
            let code = await doomed.ended()
            #expect(code == SIGKILL)
            // What was said before the kill may be on the phone before the repeat.
            try stage.startWorker()
            try await stage.queueAtRest()
            try stage.start("lifecycle-producer", scene.settings)
            try await stage.eventually("the notification is settled", within: .seconds(60)) {
                try await scene.settled() == 1
            }
            try await stage.eventually("a push arrived") { stage.simulator.acceptedCount >= 1 }
            try await stage.queueAtRest()
            #expect(stage.simulator.acceptedCount == 1)
            #expect(try await stage.count("notification_messages") == 1)
            let subscription = try await stage.count(
                "subscriptions WHERE status = 2 AND user_id = '\(scene.user)' AND announced ? 'subscription_expired'"
            )
            #expect(subscription == 1)
            try await scene.removeCaps()
        }
    }

    @Test(.timeLimit(.minutes(3)))
    func `a payment that recovers while no worker runs leaves the phone in peace (P6)`() async throws {
        try await Stage.run { stage in
            let scene = try await Scene(stage)
            try await scene.keep("DID_FAIL_TO_RENEW", uuid: Self.uuid)
            try stage.start("lifecycle-producer", scene.settings)
            try await stage.eventually("the failure is settled") { try await scene.settled() == 1 }
            try await scene.keep("DID_RENEW", uuid: "002e14d5-51f5-4503-b5a8-c3a1af68eb21")
            try await stage.eventually("the recovery is settled") { try await scene.settled() == 2 }
            try stage.startWorker()
            try await stage.queueAtRest()
            #expect(stage.simulator.acceptedCount == 0)
            #expect(try await stage.count("notification_events WHERE kind = 'cancelled' AND reason = 'renewed'") == 1)
            try await scene.removeCaps()
        }
    }
}
