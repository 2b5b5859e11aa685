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

/// Several workers, killed again and again at moments that a seed decides (E10, R2).
///
/// `VARSEL_CRASH_JOBS` sets the number of jobs (1,500), `VARSEL_CRASH_KILLS` that of kills (6), and `VARSEL_CRASH_SEED` plays one
/// run again, as far as the machine's own timing allows.
@Suite(.serialized)
struct RandomCrashTests {
    /// Jobs one worker may hold, and a group beyond that: what a kill may leave in doubt.
    private static let inDoubt = 2048 + 256

    /// Completed jobs that the queue remembers.
    private static let keptCompleted = 1000

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    @Test func `workers killed at random lose nothing, exceed no cap, and repeat only under the same id (E10)`()
        async throws
    {
        let jobs = Self.number("VARSEL_CRASH_JOBS") ?? 1500
        let kills = Self.number("VARSEL_CRASH_KILLS") ?? 6
        let seed = Self.number("VARSEL_CRASH_SEED").map { UInt64($0) } ?? UInt64.random(in: 0...999_999)
        var random = SeededRandom(seed: seed)
        // A fifth of the users is written to twice in the week, which its cap allows once.
        let users = jobs * 5 / 6
        try await Stage.run { stage in
            try await stage.addUsers(users, prefix: stage.userPrefix)
            stage.simulator.addFault(FaultRule(.accept, fraction: 0.2, delay: .milliseconds(40)))
            var requests = try (1...users).map { try stage.request(stage.user($0)) }
            requests += try (1...(jobs - users)).map { try stage.request(stage.user($0)) }
            requests.shuffle(using: &random)
            let receipts = try await stage.bus.enqueueNotifications(requests)
            var workers = try (0..<3).map { _ in try stage.startWorker() }
            for kill in 1...kills {
                // Half of the kills strike at a step, the others at any moment.
                let index = Int.random(in: 0..<workers.count, using: &random)
                if Bool.random(using: &random) {
                    workers[index].send(SIGKILL)
                    _ = await workers[index].ended()
                    let checkpoint = Checkpoint.allCases.randomElement(using: &random) ?? .afterSend
                    let passes = Int.random(in: 1...3, using: &random)
                    workers[index] = try stage.startWorker(["VARSEL_CRASH_AT": "\(checkpoint.rawValue):\(passes)"])
                } else {
                    try await stage.eventually("more was sent, or all") {
                        let target = jobs * kill / (kills * 2)
                        return stage.simulator.acceptedCount >= min(target, users / 2)
                    }
                    workers[index].send(SIGKILL)
                    _ = await workers[index].ended()
                    workers[index] = try stage.startWorker()
                }
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...300, using: &random)))
            }
            // Those told to kill themselves may not have come to it yet; a fresh one brings the rest to its end.
            try stage.startWorker()
            try await stage.queueAtRest(within: .seconds(300))
            try await expectNothingLost(stage, Set(receipts.map(\.messageID)), users: users, seed: seed)
            let duplicates = stage.simulator.duplicateCount
            // A worker told to crash at a step is a kill as well.
            let bound = 2 * kills * Self.inDoubt
            #expect(duplicates <= bound, "seed \(seed)")
            print("random crashes: seed \(seed), \(jobs) jobs, at most \(2 * kills) kills, \(duplicates) sent twice")
        }
    }

    private func expectNothingLost(_ stage: Stage, _ ids: Set<MessageID>, users: Int, seed: UInt64) async throws {
        let counts = try await stage.queue.counts()
        #expect(counts.failed == 0 && counts.completed == min(ids.count, Self.keptCompleted), "seed \(seed)")
        let rows = try await stage.database.pool.query(
            "SELECT id, user_id, status FROM notification_messages"
        )
        var sent: [String: [UUIDBits]] = [:]
        for row in rows {
            let status = try row.string("status")
            #expect(status == "sent", "seed \(seed)")
            sent[try row.string("user_id"), default: []].append(try row.uuid("id"))
        }
        // Every message was either sent or suppressed, and told so.
        let told = try await stage.count(
            "(SELECT DISTINCT message_id FROM notification_events WHERE kind IN ('sent', 'suppressed')) AS t"
        )
        #expect(told == ids.count, "seed \(seed)")
        #expect(sent.count == users, "seed \(seed): every user was reached")
        let pushes = stage.simulator.pushes(limit: 1_000_000)
        #expect(Set(pushes.map(\.apnsID)) == Set(sent.values.flatMap { $0 }), "seed \(seed)")
        let strange = pushes.count { $0.collapseID != $0.apnsID.description }
        #expect(strange == 0, "seed \(seed): a repeat carries the same ids")
        let names = (1...users).map { stage.user($0) }
        let uncounted = try await stage.uncountedUsers()
        for (user, slots) in zip(names, try await stage.slots(of: names)) {
            let count = sent[user]?.count ?? 0
            // Two only where the caps did not answer in time on a busy machine; then both are counted, or will be.
            #expect(count == slots || uncounted.contains(user), "seed \(seed): \(user) got \(count), holds \(slots)")
        }
    }
}

/// A generator whose numbers a seed decides (SplitMix64).
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
