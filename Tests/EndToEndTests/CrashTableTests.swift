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

/// The rows of the crash table that need more than a killed worker: what stands in the pushes, the row, the events, the slots and
/// the queue after another worker took over (E10).
@Suite(.serialized)
struct CrashTableTests {
    /// One user's message, a worker that is killed at the checkpoint, then `between`, then another worker.
    private func killed(
        at checkpoint: Checkpoint,
        _ category: CategoryID = .reminder,
        prepare: (Stage) async throws -> Void = { _ in },
        between: (Stage) async throws -> Void = { _ in },
        expect: (Stage, EnqueueReceipt) async throws -> Void
    ) async throws {
        try await Stage.run { stage in
            try await stage.addUsers(1, prefix: stage.userPrefix)
            try await prepare(stage)
            let receipt = try await stage.bus.enqueueNotification(stage.request(stage.user(1), category))
            let doomed = try stage.startWorker(["VARSEL_CRASH_AT": "\(checkpoint.rawValue):1"])
            try await stage.eventually("the worker is killed") { !doomed.isRunning }
            let code = await doomed.ended()
            #expect(code == SIGKILL)
            try await between(stage)
            try stage.startWorker()
            try await stage.queueAtRest()
            try await expect(stage, receipt)
        }
    }

    private func status(_ stage: Stage) async throws -> String? {
        try await stage.database.pool.query("SELECT status FROM notification_messages").first?.string("status")
    }

    private func silence(_ stage: Stage) async throws {
        _ = try await stage.database.pool.query(
            "UPDATE user_notification_preferences SET silence_until = now() + interval '1 day'"
        )
    }

    @Test func `after gate 4, with a gate refusing now: nothing is sent and the slot comes back (E10, R2)`()
        async throws
    {
        try await killed(
            at: .afterCaps,
            between: { stage in
                let taken = try await stage.slots(of: stage.user(1))
                #expect(taken == 1)
                try await silence(stage)
            },
            expect: { stage, receipt in
                #expect(stage.simulator.acceptedCount == 0)
                let events = try await stage.events(of: receipt.messageID)
                #expect(events == ["suppressed"], "the first run was killed before it could tell of itself")
                try await stage.eventually("the slot is back") { try await stage.slots(of: stage.user(1)) == 0 }
                let counts = try await stage.queue.counts()
                #expect(counts.completed == 1)
            }
        )
    }

    @Test func `after the write, with a gate refusing now: the row ends suppressed and the slot comes back (R2)`()
        async throws
    {
        try await killed(
            at: .afterWrite,
            between: { stage in
                try await silence(stage)
            },
            expect: { stage, _ in
                // The push of the first run may have left before the kill; the row says what is known.
                let status = try await status(stage)
                #expect(status == "suppressed")
                try await stage.eventually("the slot is back") { try await stage.slots(of: stage.user(1)) == 0 }
            }
        )
    }

    @Test func `row sent with a device outstanding: only that one is tried (E10)`() async throws {
        try await killed(at: .afterRecord) { stage in
            _ = try await stage.database.pool.query(
                """
                INSERT INTO devices (user_id, device_id, provider, platform, token, environment, topic, permission_status,
                    registered_at)
                VALUES (\(stage.user(1)), 'pad', 'apns', 'ios', \(String(repeating: "ab", count: 32)), 'production',
                    \(Stage.topic), 'granted', now() - interval '1 day')
                """
            )
            stage.simulator.addFault(
                FaultRule(
                    .refuse(status: 500, reason: "InternalServerError", timestamp: nil, retryAfter: nil),
                    token: String(repeating: "ab", count: 32),
                    remaining: 1
                )
            )
        } expect: { stage, receipt in
            #expect(stage.simulator.acceptedCount == 2)
            #expect(stage.simulator.duplicateCount == 0)
            let status = try await status(stage)
            #expect(status == "sent")
            let events = try await stage.events(of: receipt.messageID)
            #expect(events.sorted() == ["enqueued", "retrying", "sent", "sent"])
            let slots = try await stage.slots(of: stage.user(1))
            #expect(slots == 1)
        }
    }

    @Test(arguments: [Checkpoint.afterRecord, .afterGiveBack])
    func `row sent and nothing outstanding: the job is only finished (E10)`(checkpoint: Checkpoint) async throws {
        try await killed(at: checkpoint) { stage, receipt in
            #expect(stage.simulator.acceptedCount == 1 && stage.simulator.duplicateCount == 0)
            let events = try await stage.events(of: receipt.messageID)
            #expect(events == ["enqueued", "sent", "duplicate"])
            let job = try #require(try await stage.queue.job(receipt.jobID))
            #expect(job.fields["returnvalue"] == #"{"outcome":"sent","reason":null}"#)
            let slots = try await stage.slots(of: stage.user(1))
            #expect(slots == 1)
        }
    }

    @Test func `after retrying is recorded, before the job is moved: it is tried again, with one slot (E10, A4)`()
        async throws
    {
        try await killed(at: .afterRecord) { stage in
            stage.simulator.addFault(
                FaultRule(
                    .refuse(status: 500, reason: "InternalServerError", timestamp: nil, retryAfter: nil),
                    remaining: 1
                )
            )
        } expect: { stage, receipt in
            #expect(stage.simulator.acceptedCount == 1)
            let events = try await stage.events(of: receipt.messageID)
            #expect(events == ["enqueued", "retrying", "sent"])
            let attempts = try await stage.count("notification_events WHERE kind = 'sent' AND attempt = 2 AND ats = 2")
            #expect(attempts == 1)
            let slots = try await stage.slots(of: stage.user(1))
            #expect(slots == 1)
        }
    }

    @Test func `after a suppression event, before the end: told twice, apart by the number of the start (E8)`()
        async throws
    {
        try await killed(at: .afterRecord) { stage in
            try await silence(stage)
        } expect: { stage, receipt in
            #expect(stage.simulator.acceptedCount == 0)
            let events = try await stage.events(of: receipt.messageID)
            #expect(events == ["enqueued", "suppressed", "suppressed"])
            let starts = try await stage.count(
                "(SELECT DISTINCT ats FROM notification_events WHERE kind = 'suppressed') AS s"
            )
            #expect(starts == 2)
            let job = try #require(try await stage.queue.job(receipt.jobID))
            #expect(job.fields["returnvalue"] == #"{"outcome":"suppressed","reason":"silence"}"#)
        }
    }

    @Test(arguments: [Checkpoint.afterRecord, .afterGiveBack])
    func `after a failure is recorded: it ends failed, and the slot comes back (R2)`(checkpoint: Checkpoint)
        async throws
    {
        try await killed(at: checkpoint) { stage in
            stage.simulator.addFault(
                FaultRule(.refuse(status: 400, reason: "BadExpirationDate", timestamp: nil, retryAfter: nil))
            )
        } expect: { stage, receipt in
            let status = try await status(stage)
            #expect(status == "failed")
            let job = try #require(try await stage.queue.job(receipt.jobID))
            #expect(job.state == "failed")
            try await stage.eventually("the slot is back") { try await stage.slots(of: stage.user(1)) == 0 }
        }
    }

    @Test func `the answer is lost with the connection: sent again under the same id, one slot (E10)`() async throws {
        try await Stage.run { stage in
            try await stage.addUsers(1, prefix: stage.userPrefix)
            stage.simulator.addFault(FaultRule(.drop, remaining: 1))
            let receipt = try await stage.bus.enqueueNotification(stage.request(stage.user(1)))
            try stage.startWorker()
            try await stage.queueAtRest()
            #expect(stage.simulator.acceptedCount == 2 && stage.simulator.duplicateCount == 1)
            #expect(Set(stage.simulator.pushes().map(\.collapseID)) == [receipt.messageID.description])
            let events = try await stage.events(of: receipt.messageID)
            #expect(events == ["enqueued", "unknown", "sent"])
            let slots = try await stage.slots(of: stage.user(1))
            #expect(slots == 1)
        }
    }

    @Test func `Redis comes back from an older file: nobody is sent to twice, and the caps are rebuilt (E10, R2)`()
        async throws
    {
        try await Stage.run { stage in
            try await stage.addUsers(20, prefix: stage.userPrefix)
            let requests = try (1...20).map { try stage.request(stage.user($0)) }
            let jobs = requests.map { request in
                NewJob(
                    name: "notification",
                    data: request.job.json,
                    options: JobOptions(
                        jobID: MessageIDGenerator(clock: SystemWallClock()).next().description,
                        timestamp: SystemWallClock().now
                    )
                )
            }
            _ = try await stage.queue.addBulk(jobs)
            try stage.startWorker()
            try await stage.queueAtRest()
            #expect(stage.simulator.acceptedCount == 20)
            await stage.endWorkers()
            // The file was older than the deliveries: jobs wait again, slots are gone.
            try await stage.redis.cleanUp()
            try await stage.redis.removeKeys(matching: "notif:v2:*:\(stage.userPrefix)*")
            _ = try await stage.queue.addBulk(jobs)
            try stage.startWorker()
            try await stage.queueAtRest()
            #expect(stage.simulator.acceptedCount == 20)
            let told = try await stage.count("notification_events WHERE kind = 'duplicate'")
            #expect(told == 20)
            let users = (1...20).map { stage.user($0) }
            let lost = try await stage.slots(of: users)
            #expect(lost.allSatisfy { $0 == 0 })
            for taken in ["20", "0"] {
                let rebuild = try ServiceProcess(
                    "varselctl",
                    arguments: ["caps", "rebuild"],
                    environment: stage.environment(),
                    folder: stage.folder
                )
                let code = await rebuild.ended()
                #expect(code == 0)
                #expect(rebuild.output.contains("slots taken: \(taken)"))
            }
            let rebuilt = try await stage.slots(of: users)
            #expect(rebuilt.allSatisfy { $0 == 1 })
            // The caps hold again.
            _ = try await stage.bus.enqueueNotification(stage.request(stage.user(1)))
            try await stage.queueAtRest()
            #expect(stage.simulator.acceptedCount == 20)
        }
    }
}
