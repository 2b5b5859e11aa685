import Kernel
import Testing

@testable import HTTP2

/// The parts that decide without doing anything: their time is an argument.
struct DecisionTests {
    private func time(_ seconds: Int) -> MonotonicTime { MonotonicTime(nanoseconds: 0) + .seconds(seconds) }

    private var detector: StallDetector { StallDetector(options: HTTP2ClientOptions(), now: time(0)) }

    @Test func `silence after a request leads to a PING, and silence after that to the end`() {
        var stall = detector
        stall.requestSent(now: time(100))
        #expect(stall.check(now: time(114)) == .wait(until: time(115)))
        #expect(stall.check(now: time(115)) == .sendPing)
        #expect(stall.check(now: time(116)) == .wait(until: time(120)))
        #expect(stall.check(now: time(120)) == .dead)
    }

    @Test func `any frame is a sign of life`() {
        var stall = detector
        stall.requestSent(now: time(0))
        #expect(stall.check(now: time(15)) == .sendPing)
        stall.frameReceived(now: time(16), streamsOpen: true)
        #expect(stall.check(now: time(20)) == .wait(until: time(31)))
    }

    @Test func `later requests do not put off the verdict`() {
        var stall = detector
        for second in 0..<15 { stall.requestSent(now: time(second)) }
        #expect(stall.check(now: time(15)) == .sendPing)
    }

    @Test func `a peer that answers PING but no request is found out`() {
        var options = HTTP2ClientOptions()
        options.answerAfter = .seconds(12)
        var stall = StallDetector(options: options, now: time(0))
        stall.requestSent(now: time(0))
        stall.requestSent(now: time(5))
        stall.frameReceived(now: time(11), streamsOpen: true)
        #expect(stall.check(now: time(11)) == .wait(until: time(12)))
        #expect(stall.check(now: time(12)) == .unresponsive)
        // One answer of many gives the others the whole time again; none open, no hurry.
        stall.answerProgressed(now: time(12), streamsOpen: true)
        #expect(stall.check(now: time(12)) == .wait(until: time(24)))
        stall.answerProgressed(now: time(13), streamsOpen: false)
        stall.frameReceived(now: time(13), streamsOpen: false)
        #expect(stall.check(now: time(100)) == .wait(until: time(3_613)))
    }

    @Test func `an idle connection is checked once an hour`() {
        var stall = detector
        #expect(stall.check(now: time(3_599)) == .wait(until: time(3_600)))
        #expect(stall.check(now: time(3_600)) == .sendPing)
        stall.frameReceived(now: time(3_601), streamsOpen: false)
        #expect(stall.check(now: time(3_601)) == .wait(until: time(7_201)))
    }

    @Test func `deadlines come out in their order`() {
        var queue = DeadlineQueue()
        var generator = SystemRandomNumberGenerator()
        let deadlines = (0..<500).map { _ in Int.random(in: 0..<100, using: &generator) }
        for (tag, deadline) in deadlines.enumerated() {
            queue.insert(DeadlineQueue.Entry(deadline: time(deadline), tag: tag, id: UInt64(tag)))
        }
        #expect(queue.popExpired(now: time(-1)) == nil)
        var seen: [MonotonicTime] = []
        while let entry = queue.popExpired(now: time(49)) { seen.append(entry.deadline) }
        #expect(seen == deadlines.filter { $0 <= 49 }.sorted().map(time))
        #expect(queue.count == 500 - seen.count)
    }

    @Test func `entries of ended streams do not pile up`() {
        var queue = DeadlineQueue()
        var largest = 0
        for id in 0..<10_000 {
            // One stream is open at a time, with ever other timeouts.
            if queue.needsCompaction(open: 1) { queue.compact { $0.id == UInt64(id - 1) } }
            queue.insert(DeadlineQueue.Entry(deadline: time(1_000 + id % 7), tag: 0, id: UInt64(id)))
            largest = max(largest, queue.count)
        }
        #expect(largest <= 68)
        queue.compact { $0.id >= 9_990 }
        var previous = time(0)
        while let entry = queue.popExpired(now: time(2_000)) {
            #expect(entry.deadline >= previous)
            previous = entry.deadline
        }
    }

    @Test func `slots are used again and know their streams`() {
        final class Item {}
        var table = StreamTable<Item>()
        let items = (0..<3).map { _ in Item() }
        #expect(items.map { table.insert($0) } == [0, 1, 2])
        #expect(table.remove(1) === items[1])
        #expect(table.remove(1) == nil)
        #expect(table[1] == nil)
        #expect(table[99] == nil)
        #expect(table.count == 2)
        #expect(table.insert(items[1]) == 1)
        #expect(table.all.map(\.tag) == [0, 1, 2])
    }

    @Test func `waits are rounded up, so that none ends before its time`() {
        let now = MonotonicTime(nanoseconds: 1_000_000)
        #expect(MonotonicTime(nanoseconds: 1_000_001).pollTimeout(now: now) == 1)
        #expect(MonotonicTime(nanoseconds: 3_000_000).pollTimeout(now: now) == 2)
        #expect(MonotonicTime(nanoseconds: 0).pollTimeout(now: now) == 0)
        #expect((now + .seconds(Int64.max)).pollTimeout(now: now) == 60_000)
    }
}
