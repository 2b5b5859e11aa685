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

/// Slots and rows that are put right beside the pipeline, with real servers.
@Suite(.serialized)
struct SlotTests {
    @Test func `messages sent while the caps are away are counted when they are back (R3)`() async throws {
        try await Stage.run { stage in
            let caps = try TCPProxy(to: stage.redisPort)
            defer { caps.close() }
            caps.cut()
            try await stage.addUsers(10, prefix: stage.userPrefix)
            _ = try await stage.bus.enqueueNotifications((1...10).map { try stage.request(stage.user($0)) })
            try stage.startWorker(["CAPS_REDIS_URL": "redis://127.0.0.1:\(caps.port)"])
            try await stage.queueAtRest()
            #expect(stage.simulator.acceptedCount == 10)
            let users = (1...10).map { stage.user($0) }
            let open = try await stage.slots(of: users)
            #expect(open.allSatisfy { $0 == 0 })
            let marked = try await stage.uncountedUsers()
            #expect(marked == Set(users))
            caps.mend()
            try await stage.eventually("they are counted", within: .seconds(60)) {
                try await stage.uncountedUsers().isEmpty
            }
            let counted = try await stage.slots(of: users)
            #expect(counted.allSatisfy { $0 == 1 })
            // The week is used up now.
            _ = try await stage.bus.enqueueNotification(stage.request(stage.user(1)))
            try await stage.queueAtRest()
            #expect(stage.simulator.acceptedCount == 10)
        }
    }

    @Test func `a slot that cannot be freed is freed by another worker when the one that owed it is killed (R2, R3)`()
        async throws
    {
        try await Stage.run { stage in
            let caps = try TCPProxy(to: stage.redisPort)
            defer { caps.close() }
            try await stage.addUsers(1, prefix: stage.userPrefix)
            let refusal = FaultRule.Action.refuse(
                status: 400,
                reason: "BadExpirationDate",
                timestamp: nil,
                retryAfter: nil
            )
            // Long enough to cut the caps off between the taking of the slot and the refusal.
            stage.simulator.addFault(FaultRule(refusal, delay: .seconds(3)))
            _ = try await stage.bus.enqueueNotification(stage.request(stage.user(1)))
            let environment = ["CAPS_REDIS_URL": "redis://127.0.0.1:\(caps.port)"]
            let worker = try stage.startWorker(environment)
            try await stage.eventually("the row is written") { try await stage.count("notification_messages") == 1 }
            caps.cut()
            try await stage.eventually("it failed, and owes its slot") {
                try await stage.count("slot_debts") == 1
            }
            try await stage.eventually("the job is over") { try await stage.queue.counts().failed == 1 }
            worker.send(SIGKILL)
            _ = await worker.ended()
            let held = try await stage.slots(of: stage.user(1))
            #expect(held == 1)
            caps.mend()
            try stage.startWorker(environment)
            try await stage.eventually("the debt is settled") { try await stage.count("slot_debts") == 0 }
            let freed = try await stage.slots(of: stage.user(1))
            #expect(freed == 0)
        }
    }

    @Test func `rows whose jobs are gone end as lost, with their slots back (E10, R2)`() async throws {
        try await Stage.run { stage in
            try await stage.addUsers(3, prefix: stage.userPrefix)
            let ids = MessageIDGenerator(clock: SystemWallClock())
            let week = try await stage.week()
            for number in 1...3 {
                let id = ids.next()
                // The third may have arrived, and keeps its slot.
                let deliveries = number == 3 ? #"{"1": {"s": "unknown", "n": 1}}"# : "{}"
                _ = try await stage.database.pool.query(
                    """
                    INSERT INTO notification_messages (id, user_id, category, title, body, deeplink_url, job_id, status,
                        enqueued_at, due_at, created_at, week_key, deliveries)
                    SELECT \(id.bits), \(stage.user(number)), 'reminder', '', '', '', 'gone', 'pending', moment, moment, moment,
                        \(week), \(deliveries)::jsonb
                    FROM (SELECT now() - interval '8 hours' AS moment) AS given
                    """
                )
                _ = try await stage.redis.client.send(
                    RedisCommand([
                        "HSET", .string("notif:v2:cat:\(stage.user(number)):reminder:\(week)"), .string(id.description),
                        1,
                    ])
                )
            }
            for _ in 0..<2 { try stage.startWorker() }
            try await stage.eventually("the rows are over") {
                try await stage.count("notification_messages WHERE status = 'pending'") == 0
            }
            try await stage.eventually("the slots of those that reached nobody are free") {
                try await stage.slots(of: (1...3).map { stage.user($0) }) == [0, 0, 1]
            }
            let failed = try await stage.count("notification_messages WHERE status = 'failed' AND reason = 'lost'")
            let unknown = try await stage.count("notification_messages WHERE status = 'unknown' AND reason = 'lost'")
            let events = try await stage.count("notification_events WHERE gate = 'reaper' AND reason = 'lost'")
            #expect(failed == 2 && unknown == 1 && events == 3, "each once, whoever of the two was at it")
        }
    }

    @Test func `PUSH_BADGE puts the number of unread messages on the icon`() async throws {
        try await Stage.run { stage in
            try await stage.addUsers(1, prefix: stage.userPrefix)
            try stage.startWorker(["PUSH_BADGE": "1"])
            for number in 1...2 {
                _ = try await stage.bus.enqueueNotification(stage.request(stage.user(1), .lifecycle))
                try await stage.eventually("push \(number) arrived") { stage.simulator.acceptedCount == number }
                try await stage.queueAtRest()
            }
            let badges = try stage.simulator.pushes().sorted { $0.receivedAt < $1.receivedAt }
                .map { try JSONValue(parsing: $0.body)["aps"]?["badge"]?.integerValue }
            #expect(badges == [1, 2])
        }
    }

    @Test func `a failed job that a person lets run again is tried on every device (contracts of re-runs)`()
        async throws
    {
        try await Stage.run { stage in
            try await stage.addUsers(1, prefix: stage.userPrefix)
            stage.simulator.addFault(
                FaultRule(.refuse(status: 400, reason: "BadExpirationDate", timestamp: nil, retryAfter: nil))
            )
            let receipt = try await stage.bus.enqueueNotification(stage.request(stage.user(1)))
            try stage.startWorker()
            try await stage.eventually("it failed") { try await stage.queue.counts().failed == 1 }
            stage.simulator.clearFaults()
            let again = try await stage.queue.retryAll(.failed)
            #expect(again == 1)
            try await stage.eventually("it was sent") { stage.simulator.acceptedCount == 1 }
            try await stage.queueAtRest()
            let story = try await stage.events(of: receipt.messageID)
            #expect(story == ["enqueued", "failed", "sent"])
            let slots = try await stage.slots(of: stage.user(1))
            #expect(slots == 1)
        }
    }
}
