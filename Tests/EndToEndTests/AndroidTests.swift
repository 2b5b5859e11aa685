import Foundation
import JobQueue
import Kernel
import NotificationBus
import NotificationContract
import Notifications
import PostgresClient
import PushSimulator
import TestSupport
import Testing

/// Users with an Android phone, on real servers: the worker process reaches them through the simulated FCM.
@Suite(.serialized)
struct AndroidTests {
    @Test func `a user with an iPhone and an Android phone gets one push on each (A6)`() async throws {
        try await Stage.run { stage in
            try await stage.addUsers(1, prefix: stage.userPrefix)
            try await stage.addAndroidPhones(1, prefix: stage.userPrefix)
            let apple = try await stage.database.pool.query("SELECT token FROM devices WHERE provider = 'apns'")
            let appleToken = try #require(try apple.first?.string("token"))
            let receipt = try await stage.bus.enqueueNotification(stage.request(stage.user(1), body: "Have a look"))
            try stage.startWorker()
            try await stage.queueAtRest()
            #expect(stage.simulator.acceptedCount == 2 && stage.simulator.duplicateCount == 0)
            #expect(stage.simulator.pushes(token: appleToken).count == 1)
            let push = try #require(stage.simulator.pushes(token: "android-1").first)
            #expect(push.pushType == "fcm")
            #expect(push.collapseID == receipt.messageID.description)
            let message = try #require(try JSONValue(parsing: push.body)["message"])
            #expect(message["notification"]?["body"] == "Have a look")
            #expect(message["data"]?["category"] == "reminder")
            #expect(message["data"]?["messageId"]?.stringValue == receipt.messageID.description)
            let events = try await stage.events(of: receipt.messageID)
            #expect(events == ["enqueued", "sent", "sent"], "an event for each device")
            let rows = try await stage.database.pool.query("SELECT deliveries::text AS d FROM notification_messages")
            let deliveries = try JSONValue(parsing: try #require(try rows.first?.string("d")))
            #expect(deliveries.members?.count == 2)
        }
    }

    @Test func `a dead registration token goes, the other device keeps the permission (A6, E9)`() async throws {
        try await Stage.run { stage in
            try await stage.addUsers(1, prefix: stage.userPrefix)
            try await stage.addAndroidPhones(1, prefix: stage.userPrefix)
            stage.simulator.addFCMFault(
                FaultRule(
                    .refuse(status: 404, reason: "UNREGISTERED", timestamp: nil, retryAfter: nil),
                    token: "android-1"
                )
            )
            let receipt = try await stage.bus.enqueueNotification(stage.request(stage.user(1)))
            try stage.startWorker()
            try await stage.queueAtRest()
            let events = try await stage.events(of: receipt.messageID)
            #expect(Set(events) == ["enqueued", "sent", "failed", "token_invalidated"])
            let gone = try await stage.count("devices WHERE invalidated_at IS NOT NULL AND provider = 'fcm'")
            let kept = try await stage.count("devices WHERE invalidated_at IS NULL AND provider = 'apns'")
            let granted = try await stage.count(
                "user_notification_preferences WHERE ios_permission_status = 'granted'"
            )
            #expect(gone == 1 && kept == 1 && granted == 1)
            #expect(stage.simulator.acceptedCount == 1)
        }
    }

    @Test func `an FCM that is away does not hold back Apple, and catches up (A6)`() async throws {
        try await Stage.run { stage in
            try await stage.addUsers(400, prefix: stage.userPrefix)
            try await stage.addAndroidPhones(200, prefix: stage.userPrefix)
            var requests: [NotificationRequest] = []
            for number in 1...400 { requests.append(try stage.request(stage.user(number), .lifecycle)) }
            for request in requests { _ = try await stage.bus.enqueueNotification(request) }
            // Fewer places than users with a phone that cannot be reached: they would be full of them.
            let away = try stage.startWorker(["FCM_PORT": "1", "MAX_IN_FLIGHT": "64"])
            try await stage.eventually("every iPhone has its push") { stage.simulator.acceptedCount == 400 }
            let done = try await stage.count("notification_messages WHERE status = 'sent'")
            #expect(done >= 200)
            away.send(SIGTERM)
            _ = await away.ended()
            try stage.startWorker()
            try await stage.eventually("every Android phone has its push", within: .seconds(90)) {
                stage.simulator.acceptedCount == 600
            }
            #expect(stage.simulator.duplicateCount == 0)
        }
    }
}
