import DeliveryEngine
import Foundation
import JobQueue
import Kernel
import NotificationBus
import NotificationContract
import Notifications
import PostgresClient
import PushSimulator
import RedisClient
import TestSupport
import Testing

/// Workers are killed, and nothing is lost, doubled or counted twice (E10, R2).
@Suite(.serialized)
struct CrashTests {
    @Test func `a worker killed among 1,000 jobs loses none and takes no slot twice`() async throws {
        try await Stage.run { stage in
            try await stage.addUsers(1000, prefix: stage.userPrefix)
            // Slow answers keep many pushes in the air at the moment of the kill.
            stage.simulator.addFault(FaultRule(.accept, delay: .milliseconds(30)))
            var requests = try (1...1000).map { try stage.request(stage.user($0)) }
            requests.shuffle()
            let receipts = try await stage.bus.enqueueNotifications(requests)
            let first = try stage.startWorker(["MAX_IN_FLIGHT": "128"])
            try await stage.eventually("some pushes arrived") { stage.simulator.acceptedCount >= 150 }
            first.send(SIGKILL)
            _ = await first.ended()
            let before = stage.simulator.acceptedCount
            #expect(before < 1000, "the kill came too late to show anything")
            try stage.startWorker()
            try await stage.queueAtRest()
            try await expectEachOnce(stage, receipts.map(\.messageID))
            // Only what was in flight may come twice, and then with the same id.
            #expect(stage.simulator.duplicateCount <= 128)
        }
    }

    @Test(arguments: Checkpoint.allCases)
    func `a worker killed at any step is taken over by another`(checkpoint: Checkpoint) async throws {
        try await Stage.run { stage in
            try await stage.addUsers(40, prefix: stage.userPrefix)
            let receipts = try await stage.bus.enqueueNotifications((1...40).map { try stage.request(stage.user($0)) })
            let doomed = try stage.startWorker(["VARSEL_CRASH_AT": "\(checkpoint.rawValue):1"])
            let code = await doomed.ended()
            #expect(code == SIGKILL)
            try stage.startWorker()
            try await stage.queueAtRest()
            try await expectEachOnce(stage, receipts.map(\.messageID))
        }
    }

    @Test(arguments: [Checkpoint.afterInvalidation, .afterRecord, .afterGiveBack, .afterEnd])
    func `a worker killed while a dead token is put away leaves slot and permission right`(
        checkpoint: Checkpoint
    ) async throws {
        try await Stage.run { stage in
            try await stage.addUsers(1, prefix: stage.userPrefix)
            stage.simulator.addFault(
                FaultRule(.refuse(status: 410, reason: "Unregistered", timestamp: nil, retryAfter: nil))
            )
            let receipt = try await stage.bus.enqueueNotification(stage.request(stage.user(1)))
            let doomed = try stage.startWorker(["VARSEL_CRASH_AT": "\(checkpoint.rawValue):1"])
            let code = await doomed.ended()
            #expect(code == SIGKILL)
            try stage.startWorker()
            try await stage.queueAtRest()
            try await stage.eventually("the slot is back") { try await stage.slots(of: stage.user(1)) == 0 }
            let revoked = try await stage.count(
                "user_notification_preferences WHERE ios_permission_status <> 'granted'"
            )
            #expect(revoked == 1)
            let status = try await stage.count(
                "notification_messages WHERE status IN ('failed', 'suppressed') AND id = '\(receipt.messageID)'"
            )
            #expect(status == 1)
        }
    }

    @Test func `a worker told to stop finishes what it holds and leaves with 0`() async throws {
        try await Stage.run { stage in
            try await stage.addUsers(500, prefix: stage.userPrefix)
            let receipts = try await stage.bus.enqueueNotifications((1...500).map { try stage.request(stage.user($0)) })
            let first = try stage.startWorker(["MAX_IN_FLIGHT": "64"])
            try await stage.eventually("some pushes arrived") { stage.simulator.acceptedCount >= 50 }
            first.send(SIGTERM)
            let code = await first.ended()
            #expect(code == 0)
            let counts = try await stage.queue.counts()
            #expect(counts.active == 0, "nothing is left locked")
            try stage.startWorker()
            try await stage.queueAtRest()
            try await expectEachOnce(stage, receipts.map(\.messageID))
            #expect(stage.simulator.duplicateCount == 0)
        }
    }

    /// Every message arrived, as sent, with one slot each, and repeats only under the same id.
    private func expectEachOnce(_ stage: Stage, _ ids: [MessageID]) async throws {
        let arrived = Set(stage.simulator.pushes(limit: 100_000).map(\.apnsID))
        #expect(arrived == Set(ids.map(\.bits)))
        let sent = try await stage.count("notification_messages WHERE status = 'sent'")
        #expect(sent == ids.count)
        let told = try await stage.count(
            "(SELECT DISTINCT message_id FROM notification_events WHERE kind = 'sent') AS s"
        )
        #expect(told == ids.count)
        let counts = try await stage.queue.counts()
        #expect(counts.completed == ids.count && counts.failed == 0)
        let users = (1...ids.count).map { stage.user($0) }
        let uncounted = try await stage.uncountedUsers()
        for (user, slots) in zip(users, try await stage.slots(of: users)) {
            // An answer of the caps that came too late may have taken the slot all the same.
            #expect(slots == 1 || (slots == 0 && uncounted.contains(user)), "\(user) holds \(slots) slots")
        }
    }
}
