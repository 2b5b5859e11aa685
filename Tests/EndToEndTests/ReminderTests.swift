import Foundation
import JobQueue
import Kernel
import PostgresClient
import PushSimulator
import TestSupport
import Testing

/// The reminder producer as systemd runs it, with a worker and the simulator behind it.
@Suite(.serialized)
struct ReminderTests {
    private func start(_ stage: Stage, _ arguments: [String] = [], _ extra: [String: String] = [:]) throws
        -> ServiceProcess
    {
        try ServiceProcess(
            "reminder-producer",
            arguments: arguments,
            environment: stage.environment(extra),
            folder: stage.folder
        )
    }

    /// Users who were last active so many days ago.
    private func away(_ stage: Stage, users: Int, days: Int) async throws {
        try await stage.addUsers(users, prefix: stage.userPrefix)
        _ = try await stage.database.pool.query(
            """
            INSERT INTO user_activity (user_id, last_activity_at, timezone)
            SELECT user_id, now() - make_interval(days => \(days)::int, hours => 1), timezone
            FROM user_notification_preferences
            """
        )
    }

    @Test func `a run leaves its metrics for the textfile collector, whole and readable (A3)`() async throws {
        try await Stage.run { stage in
            try await away(stage, users: 3, days: 8)
            let file = stage.folder.path + "/varsel-reminder.prom"
            let run = try start(stage, [], ["METRICS_TEXTFILE": file])
            #expect(await run.ended() == 0)
            let text = try String(contentsOfFile: file, encoding: .utf8)
            #expect(text.contains("\nreminder_run_success 1\n"))
            #expect(text.contains("reminder_run_users{result=\"enqueued\"} "))
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
            #expect(mode == 0o644)
            let files = try FileManager.default.contentsOfDirectory(atPath: stage.folder.path)
            #expect(
                files.filter { $0.hasPrefix("varsel-reminder.prom") } == ["varsel-reminder.prom"],
                "no draft is left"
            )
            // A folder that is not there costs the metrics, not the run.
            let nowhere = try start(stage, [], ["METRICS_TEXTFILE": "/no/such/folder/x.prom"])
            #expect(await nowhere.ended() == 0)
            let misnamed = try start(stage, [], ["METRICS_TEXTFILE": "/tmp/x.txt"])
            #expect(await misnamed.ended() == 78)
        }
    }

    @Test func `two producers at once and a third later remind each user once, on the phone (P1-P4)`() async throws {
        try await Stage.run { stage in
            try await away(stage, users: 30, days: 8)
            let producers = [try start(stage), try start(stage)]
            for producer in producers {
                let code = await producer.ended()
                #expect(code == 0)
            }
            try stage.startWorker()
            try await stage.queueAtRest()
            #expect(stage.simulator.acceptedCount == 30)
            let push = try #require(stage.simulator.pushes().first)
            let body = try JSONValue(parsing: push.body)
            #expect(body["aps"]?["alert"]?["body"] == "Impulse AI is here when you need it.")
            #expect(body["aps"]?["interruption-level"] == "passive")
            let third = await (try start(stage)).ended()
            #expect(third == 0)
            try await stage.queueAtRest()
            #expect(stage.simulator.acceptedCount == 30)
        }
    }

    @Test func `a rehearsal sends nothing, and a misspelt argument is refused (P1)`() async throws {
        try await Stage.run { stage in
            try await away(stage, users: 2, days: 3)
            let rehearsal = try start(stage, ["--dry-run"])
            let code = await rehearsal.ended()
            #expect(code == 0)
            #expect(rehearsal.output.contains("You captured something important. How did it go?"))
            #expect(rehearsal.output.contains("due 2"))
            let misspelt = try start(stage, ["--dryrun"])
            let refusal = await misspelt.ended()
            #expect(refusal == 64)
            let counts = try await stage.queue.counts()
            let rows = try await stage.count("reminder_weeks")
            #expect(counts.ready == 0 && rows == 0)
        }
    }
}
