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

/// The main job on real servers: queue, worker process, PostgreSQL, HTTP/2 to the simulator.
@Suite(.serialized)
struct MainJobTests {
    @Test func `a notification reaches the device, the inbox row, the events and the counters (E1-E8)`() async throws {
        try await Stage.run { stage in
            try await stage.addUsers(1, prefix: stage.userPrefix)
            let receipt = try await stage.bus.enqueueNotification(stage.request(stage.user(1), body: "Have a look"))
            try stage.startWorker()
            try await stage.queueAtRest()
            let push = try #require(stage.simulator.pushes().first)
            #expect(stage.simulator.acceptedCount == 1)
            #expect(push.apnsID == receipt.messageID.bits)
            #expect(push.collapseID == receipt.messageID.description)
            #expect(push.topic == Stage.topic)
            #expect(push.pushType == "alert")
            #expect(push.priority == 5)
            let body = try JSONValue(parsing: push.body)
            #expect(body["aps"]?["alert"]?["body"] == "Have a look")
            #expect(body["aps"]?["category"] == "reminder")
            #expect(body["messageId"]?.stringValue == receipt.messageID.description)
            let events = try await stage.events(of: receipt.messageID)
            #expect(events == ["enqueued", "sent"])
            let job = try #require(try await stage.queue.job(receipt.jobID))
            #expect(job.state == "completed")
            #expect(job.fields["returnvalue"] == #"{"outcome":"sent","reason":null}"#)
            let slots = try await stage.slots(of: stage.user(1))
            #expect(slots == 1)
            let sent = try await stage.count("notification_messages WHERE status = 'sent' AND sent_at IS NOT NULL")
            #expect(sent == 1)
            let remembered = try await stage.count(
                "user_notification_preferences WHERE categories -> 'reminder' ->> 'lastSentAt' IS NOT NULL"
            )
            #expect(remembered == 1)
        }
    }

    @Test func `the second of a week is suppressed with its reason, lifecycle is not (E4, C2)`() async throws {
        try await Stage.run { stage in
            try await stage.addUsers(1, prefix: stage.userPrefix)
            let first = try await stage.bus.enqueueNotification(stage.request(stage.user(1)))
            try stage.startWorker()
            try await stage.queueAtRest()
            let second = try await stage.bus.enqueueNotification(stage.request(stage.user(1)))
            let notice = try await stage.bus.enqueueNotification(stage.request(stage.user(1), .lifecycle))
            try await stage.queueAtRest()
            let stories = [
                try await stage.events(of: first.messageID), try await stage.events(of: second.messageID),
                try await stage.events(of: notice.messageID),
            ]
            #expect(stories == [["enqueued", "sent"], ["enqueued", "suppressed"], ["enqueued", "sent"]])
            let reasons = try await stage.count(
                "notification_events WHERE reason = 'cap_category' AND gate = 'rate_limit'"
            )
            #expect(reasons == 1)
            let job = try #require(try await stage.queue.job(second.jobID))
            #expect(job.fields["returnvalue"] == #"{"outcome":"suppressed","reason":"cap_category"}"#)
            #expect(stage.simulator.acceptedCount == 2)
        }
    }

    @Test func `a dead token goes, permission with the last one, and the slot comes back (E9, R2)`() async throws {
        try await Stage.run { stage in
            try await stage.addUsers(2, prefix: stage.userPrefix)
            let token = try await stage.token(of: stage.user(1))
            stage.simulator.addFault(
                FaultRule(.refuse(status: 410, reason: "Unregistered", timestamp: nil, retryAfter: nil), token: token)
            )
            let dead = try await stage.bus.enqueueNotification(stage.request(stage.user(1)))
            let alive = try await stage.bus.enqueueNotification(stage.request(stage.user(2)))
            try stage.startWorker()
            try await stage.queueAtRest()
            let story = try await stage.events(of: dead.messageID)
            #expect(Set(story) == ["enqueued", "failed", "token_invalidated", "permission_revoked"])
            let other = try await stage.events(of: alive.messageID)
            #expect(other == ["enqueued", "sent"])
            let revoked = try await stage.count(
                "user_notification_preferences WHERE ios_permission_status <> 'granted'"
            )
            let gone = try await stage.count("devices WHERE invalidated_at IS NOT NULL")
            #expect(revoked == 1 && gone == 1)
            // The job's end overlaps with giving the slot back.
            try await stage.eventually("the slot is back") { try await stage.slots(of: stage.user(1)) == 0 }
            let kept = try await stage.slots(of: stage.user(2))
            #expect(kept == 1)
            let job = try #require(try await stage.queue.job(dead.jobID))
            #expect(job.state == "failed")
            let later = try await stage.bus.enqueueNotification(stage.request(stage.user(1)))
            try await stage.queueAtRest()
            let suppressed = try await stage.events(of: later.messageID)
            #expect(suppressed == ["enqueued", "suppressed"])
        }
    }

    @Test func `a server error is tried again and takes no second slot (A4, R2)`() async throws {
        try await Stage.run { stage in
            try await stage.addUsers(1, prefix: stage.userPrefix)
            stage.simulator.addFault(
                FaultRule(
                    .refuse(status: 500, reason: "InternalServerError", timestamp: nil, retryAfter: nil),
                    remaining: 1
                )
            )
            let receipt = try await stage.bus.enqueueNotification(stage.request(stage.user(1)))
            try stage.startWorker()
            try await stage.queueAtRest()
            let story = try await stage.events(of: receipt.messageID)
            #expect(story == ["enqueued", "retrying", "sent"])
            let slots = try await stage.slots(of: stage.user(1))
            #expect(slots == 1)
        }
    }

    @Test func `one poison row of each kind among 256 good ones spoils nothing`() async throws {
        try await Stage.run { stage in
            try await stage.addUsers(256, prefix: stage.userPrefix)
            _ = try await stage.database.pool.query(
                """
                UPDATE user_notification_preferences SET timezone = 'Mars/Olympus', categories = '{"campaign": {"enabled": true}}'
                WHERE user_id = \(stage.user(1))
                """
            )
            // A zone nobody knows counts as UTC, where a window might be closed: lifecycle knows no window.
            let poison = [
                "not json", "[]", "{}", #"{"userId":"x","category":"spam","body":"y"}"#,
                #"{"userId":5,"category":"lifecycle","body":"y"}"#,
                "{\"userId\":\"x\",\"category\":\"lifecycle\",\"body\":\"nul \\u0000\"}",
                "{\"userId\":\"x\",\"category\":\"lifecycle\",\"body\":\"lone \\ud800\"}",
                "{\"userId\":\"x\",\"category\":\"lifecycle\",\"body\":\"\(String(repeating: "x", count: 100_000))\"}",
                "{\"userId\":\"x\",\"category\":\"lifecycle\",\"body\":\"x\",\"metadata\":\(String(repeating: "[", count: 500))}",
            ]
            var jobs: [NewJob] = []
            for number in 1...256 {
                jobs.append(
                    NewJob(name: "notification", data: try stage.request(stage.user(number), .lifecycle).job.json)
                )
                if number % 28 == 0, number / 28 <= poison.count {
                    jobs.append(NewJob(name: "notification", data: poison[number / 28 - 1]))
                }
            }
            jobs.append(
                NewJob(
                    name: "anything",
                    data: try stage.request(stage.user(1), .lifecycle).job.json,
                    options: JobOptions(timestamp: Timestamp(milliseconds: 1_000))
                )
            )
            _ = try await stage.queue.addBulk(jobs)
            try stage.startWorker()
            try await stage.queueAtRest()
            #expect(stage.simulator.acceptedCount == 256)
            #expect(stage.simulator.duplicateCount == 0)
            let counts = try await stage.queue.counts()
            #expect(counts.failed == poison.count)
            #expect(counts.completed == 257, "256 delivered and one from 1970 expired")
            let expired = try await stage.count("notification_events WHERE kind = 'expired'")
            #expect(expired == 1)
        }
    }

    @Test func `a job of Python's BullMQ is delivered, and its counts agree with ours (B3)`() async throws {
        try await Stage.run { stage in
            try await stage.addUsers(3, prefix: stage.userPrefix)
            let peer = try PythonPeer()
            let added = try await peer.run(
                "produce.py",
                [stage.redis.url.description, stage.redis.prefix, stage.user(1), stage.user(2), stage.user(3)]
            )
            #expect(added.contains("added 3"))
            try stage.startWorker()
            try await stage.queueAtRest()
            #expect(stage.simulator.acceptedCount == 3)
            let theirs = try await peer.run("counts.py", [stage.redis.url.description, stage.redis.prefix])
            let counts = try await stage.queue.counts()
            let value = try JSONValue(parsing: theirs)
            #expect(value["completed"]?.integerValue == Int64(counts.completed))
            #expect(value["completed"]?.integerValue == 3)
            for state in ["wait", "waiting", "active", "delayed", "failed", "prioritized"] {
                #expect(value[state]?.integerValue ?? 0 == 0)
            }
        }
    }
}
