import Kernel
import Testing

@testable import PushSimulator

struct PushLogTests {
    @Test func `the newest pushes come first and the oldest leave`() {
        let log = PushLog(recordLimit: 3, duplicateLimit: 100)
        for number: UInt64 in 1...5 { log.record(push(number), answered: true) }
        #expect(log.pushes(limit: 10).map(\.apnsID.low) == [5, 4, 3])
        #expect(log.pushes(limit: 2).map(\.apnsID.low) == [5, 4])
        #expect(log.counts.accepted == 5)
    }

    @Test func `pushes are found by token`() {
        let log = PushLog(recordLimit: 10, duplicateLimit: 100)
        log.record(push(1, token: "aa"), answered: true)
        log.record(push(2, token: "bb"), answered: true)
        #expect(log.pushes(token: "aa", limit: 10).map(\.apnsID.low) == [1])
    }

    @Test func `a duplicate is the same id to the same token`() {
        let log = PushLog(recordLimit: 0, duplicateLimit: 100)
        log.record(push(1, token: "aa"), answered: true)
        log.record(push(1, token: "bb"), answered: true)
        log.record(push(2, token: "aa"), answered: true)
        #expect(log.counts.duplicates == 0)
        log.record(push(1, token: "aa"), answered: false)
        #expect(log.counts.duplicates == 1)
        #expect(log.counts.unanswered == 1)
        #expect(log.pushes(limit: 10).isEmpty)
    }

    @Test func `a full memory for duplicates says so`() {
        let log = PushLog(recordLimit: 0, duplicateLimit: 2)
        for number: UInt64 in 1...3 { log.record(push(number), answered: true) }
        #expect(!log.counts.duplicatesAreExact)
    }

    @Test func `refusals are counted by reason, a bounded number of them`() {
        let log = PushLog(recordLimit: 0, duplicateLimit: 0)
        for number in 0..<150 { log.refuse(reason: "R\(number)") }
        log.refuse(reason: "R1")
        #expect(log.counts.refused.count == 101)
        #expect(log.counts.refused["R1"] == 2)
        #expect(log.counts.refused["other"] == 50)
        log.clear()
        #expect(log.counts.refused.isEmpty)
    }

    private func push(_ number: UInt64, token: String = "aa") -> RecordedPush {
        let valid = ValidPush(
            deviceToken: token,
            apnsID: UUIDBits(high: 0, low: number),
            topic: "t",
            pushType: "alert",
            priority: 10,
            expiration: nil,
            collapseID: nil
        )
        return RecordedPush(valid, body: [], connectionID: 1, receivedAt: Timestamp(milliseconds: 0))
    }
}
