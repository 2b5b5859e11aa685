import Kernel
import Notifications
import Testing

@testable import PushTransport

struct PoolMachineTests {
    private var machine = PoolMachine(limits: PoolMachine.Limits())
    private let start = ContinuousClock.now

    @Test mutating func `the first push opens one connection and waits for it`() {
        #expect(submit(1, 2, 3) == ["connect 0.1 now", "wake"])
        #expect(machine.waiting.count == 3)
    }

    @Test mutating func `a fresh connection carries one push until an answer proves it`() {
        _ = submit(1, 2, 3)
        #expect(texts(machine.connected(lane: 0, generation: 1, peerLimit: 1000, now: start)) == ["send 1 on 0.1"])
        #expect(submit(4) == [])
        let news = machine.ended(lane: 0, generation: 1, .proven, now: start)
        #expect(texts(news) == ["send 2 on 0.1", "send 3 on 0.1", "send 4 on 0.1"])
        #expect(submit(5) == ["send 5 on 0.1"])
    }

    @Test mutating func `an answer that proves nothing lets one more push try`() {
        _ = submit(1, 2, 3)
        _ = machine.connected(lane: 0, generation: 1, peerLimit: 1000, now: start)
        #expect(texts(machine.ended(lane: 0, generation: 1, .inconclusive, now: start)) == ["send 2 on 0.1"])
    }

    @Test mutating func `a refused token releases nothing on its connection`() {
        _ = submit(1, 2, 3)
        _ = machine.connected(lane: 0, generation: 1, peerLimit: 1000, now: start)
        var actions = machine.stop(reason: "InvalidProviderToken", now: start)
        actions += machine.ended(lane: 0, generation: 1, .recycle, now: start)
        #expect(
            texts(actions) == [
                "end 2 notSent InvalidProviderToken", "end 3 notSent InvalidProviderToken", "retire 0.1 draining",
            ]
        )
        #expect(submit(4) == ["end 4 notSent InvalidProviderToken"])
        // After the pause one push tries again, on a new connection.
        let later = start + .seconds(601)
        #expect(submit(5, at: later) == ["connect 0.2 later"])
    }

    @Test mutating func `the peer's stream limit and our own are both held`() {
        machine = PoolMachine(
            limits: {
                var limits = PoolMachine.Limits(); limits.streams = 3; return limits
            }()
        )
        openLane(peerLimit: 2)
        #expect(submit(1, 2, 3, 4, 5) == ["send 1 on 0.1", "send 2 on 0.1"])
        let raised = machine.limitChanged(lane: 0, generation: 1, peerLimit: 1000, now: start)
        #expect(texts(raised) == ["send 3 on 0.1"])
        #expect(texts(machine.limitChanged(lane: 0, generation: 1, peerLimit: 1, now: start)) == [])
        #expect(texts(machine.ended(lane: 0, generation: 1, .proven, now: start)) == [])
    }

    @Test mutating func `GOAWAY moves what waits to a new connection and lets the rest be answered`() {
        openLane(peerLimit: 1)
        _ = submit(1, 2)
        #expect(
            texts(machine.closing(lane: 0, generation: 1, now: start + .seconds(60)))
                == ["retire 0.1 draining", "connect 0.2 now"]
        )
        // An answer on the old connection changes nothing on the new one.
        #expect(texts(machine.ended(lane: 0, generation: 1, .proven, now: start)) == [])
        #expect(machine.inFlight == 0)
        #expect(texts(machine.connected(lane: 0, generation: 2, peerLimit: 1, now: start)) == ["send 2 on 0.2"])
    }

    @Test mutating func `a push that was not processed is sent again a bounded number of times`() {
        openLane(peerLimit: 1000)
        guard case .dispatch(var push, _, _)? = machine.submit(pending(1), now: start).first else {
            Issue.record("not sent")
            return
        }
        for _ in 0..<5 {
            _ = machine.ended(lane: 0, generation: 1, .refused, now: start)
            guard case .dispatch(let again, _, _)? = machine.resend(push, reason: "refusedStream", now: start).first
            else {
                Issue.record("not sent again")
                return
            }
            push = again
        }
        _ = machine.ended(lane: 0, generation: 1, .refused, now: start)
        #expect(texts(machine.resend(push, reason: "refusedStream", now: start)) == ["end 1 notSent refusedStream"])
    }

    @Test mutating func `refused streams lower our limit and answers raise it again`() {
        openLane(peerLimit: 1000)
        _ = submit(1, 2, 3, 4)
        _ = machine.ended(lane: 0, generation: 1, .refused, now: start)
        #expect(submit(5, 6) == [])
        #expect(
            texts(machine.ended(lane: 0, generation: 1, .proven, now: start)) == ["send 5 on 0.1", "send 6 on 0.1"]
        )
    }

    @Test mutating func `a connection on which nothing is answered is given up`() {
        openLane(peerLimit: 1000)
        _ = submit(1, 2)
        let later = start + .seconds(15)
        #expect(
            texts(machine.ended(lane: 0, generation: 1, .timedOut(since: start + .seconds(1)), now: later)) == [
                "retire 0.1"
            ]
        )
    }

    @Test mutating func `one slow request does not cost the connection`() {
        openLane(peerLimit: 1000)
        _ = submit(1, 2)
        _ = machine.ended(lane: 0, generation: 1, .proven, now: start + .seconds(10))
        #expect(texts(machine.ended(lane: 0, generation: 1, .timedOut(since: start), now: start + .seconds(15))) == [])
    }

    @Test mutating func `failed connections are tried again more and more slowly`() {
        #expect(submit(1) == ["connect 0.1 now", "wake"])
        var delays: [Duration] = []
        for generation in 1...8 {
            for case .connect(_, _, let after) in machine.connectFailed(lane: 0, generation: generation, now: start) {
                delays.append(after)
            }
        }
        #expect(delays.count == 8)
        for (index, delay) in delays.enumerated() {
            let step = min(1000 << index, 60_000)
            #expect((step / 2...step).contains(Int(delay.milliseconds)), "\(index): \(delay)")
        }
    }

    @Test mutating func `a connection that ends soon after a good start is replaced at once only the first time`() {
        openLane(peerLimit: 1)
        _ = submit(1, 2)
        #expect(
            texts(machine.closing(lane: 0, generation: 1, now: start)) == ["retire 0.1 draining", "connect 0.2 now"]
        )
        _ = machine.connected(lane: 0, generation: 2, peerLimit: 1, now: start)
        _ = machine.submit(pending(3), now: start)
        _ = machine.ended(lane: 0, generation: 2, .proven, now: start)
        _ = machine.submit(pending(4), now: start)
        #expect(texts(machine.closing(lane: 0, generation: 2, now: start)).contains("connect 0.3 later"))
    }

    @Test mutating func `what waits too long goes back unsent`() {
        _ = submit(1)
        _ = submit(2, at: start + .seconds(20))
        let actions = machine.expireWaiting(now: start + .seconds(30))
        #expect(texts(actions) == ["end 1 notSent NoConnection", "wake"])
        #expect(machine.waiting.count == 1)
    }

    @Test mutating func `the queue is bounded`() {
        machine = PoolMachine(
            limits: {
                var limits = PoolMachine.Limits(); limits.waiting = 2; return limits
            }()
        )
        _ = submit(1, 2)
        #expect(submit(3) == ["end 3 notSent QueueFull"])
    }

    @Test mutating func `bytes in flight are bounded like streams`() {
        machine = PoolMachine(
            limits: {
                var limits = PoolMachine.Limits()
                limits.bytes = 8192
                limits.waitingBytes = 4096
                return limits
            }()
        )
        openLane(peerLimit: 1000)
        for number in 1...2 {
            #expect(texts(machine.submit(pending(number, bytes: 4096), now: start)) == ["send \(number) on 0.1"])
        }
        #expect(texts(machine.submit(pending(3, bytes: 4096), now: start)) == [])
        #expect(texts(machine.submit(pending(4, bytes: 1), now: start)) == ["end 4 notSent QueueFull"])
        #expect(machine.waiting.bytes == 4096)
        let news = machine.ended(lane: 0, generation: 1, bytes: 4096, .proven, now: start)
        #expect(texts(news) == ["send 3 on 0.1"])
        #expect(machine.waiting.bytes == 0)
    }

    @Test mutating func `an old connection is replaced while its answers are awaited`() {
        machine = PoolMachine(
            limits: {
                var limits = PoolMachine.Limits(); limits.lifetime = .seconds(1000); return limits
            }()
        )
        openLane(peerLimit: 1000)
        #expect(submit(1, 2) == ["send 1 on 0.1", "send 2 on 0.1"])
        #expect(texts(machine.ended(lane: 0, generation: 1, .proven, now: start + .seconds(749))) == [])
        let news = machine.ended(lane: 0, generation: 1, .proven, now: start + .seconds(1251))
        #expect(texts(news) == ["retire 0.1 draining"])
        #expect(submit(3, at: start + .seconds(1252)) == ["connect 0.2 now"])
    }

    @Test mutating func `pacing spreads pushes over the second and lets a tenth of one run ahead (A5)`() {
        machine = PoolMachine(
            limits: {
                var limits = PoolMachine.Limits(); limits.pace = 100; return limits
            }()
        )
        _ = machine.submit(pending(0), now: start - .seconds(10))
        _ = machine.connected(lane: 0, generation: 1, peerLimit: 1000, now: start - .seconds(10))
        _ = machine.ended(lane: 0, generation: 1, .proven, now: start - .seconds(10))
        let atOnce = (1...50).flatMap { texts(machine.submit(pending($0), now: start)) }
        #expect(atOnce.count { $0.hasPrefix("send") } == 10)
        #expect(atOnce.contains("pace"))
        // From then on one every ten milliseconds.
        var sent = 10
        for step in 1...40 {
            let actions = texts(machine.paced(now: start + .milliseconds(10 * step)))
            sent += actions.count { $0.hasPrefix("send") }
            #expect(sent == 10 + step)
        }
    }

    @Test mutating func `an unreachable provider is tried again without a push, and said to be unreachable`() {
        _ = submit(1)
        #expect(!machine.isUnreachable)
        _ = machine.connectFailed(lane: 0, generation: 1, now: start)
        #expect(machine.isUnreachable)
        _ = machine.expireWaiting(now: start + .seconds(31))
        #expect(machine.waiting.isEmpty)
        #expect(texts(machine.connectFailed(lane: 0, generation: 2, now: start)) == ["connect 0.3 later"])
        _ = machine.connected(lane: 0, generation: 3, peerLimit: 10, now: start)
        #expect(!machine.isUnreachable)
    }

    @Test mutating func `closing gives back what waits and takes nothing more`() {
        _ = submit(1, 2)
        #expect(texts(machine.close()) == ["end 1 notSent Closing", "end 2 notSent Closing"])
        #expect(submit(3) == ["end 3 notSent Closing"])
        #expect(texts(machine.connected(lane: 0, generation: 1, peerLimit: 1, now: start)) == ["retire 0.1"])
    }

    @Test mutating func `several connections share the load`() {
        machine = PoolMachine(
            limits: {
                var limits = PoolMachine.Limits(); limits.lanes = 2; return limits
            }()
        )
        #expect(submit(1, 2, 3) == ["connect 0.1 now", "connect 1.1 now", "wake"])
        #expect(texts(machine.connected(lane: 0, generation: 1, peerLimit: 10, now: start)) == ["send 1 on 0.1"])
        #expect(texts(machine.connected(lane: 1, generation: 1, peerLimit: 10, now: start)) == ["send 2 on 1.1"])
        _ = machine.ended(lane: 0, generation: 1, .proven, now: start)
        _ = machine.ended(lane: 1, generation: 1, .proven, now: start)
        #expect(submit(4) == ["send 4 on 1.1"])
    }

    @Test func `the waiting line keeps its order`() {
        var line = WaitingLine()
        for number in 1...3000 { line.append(pending(number)) }
        var taken: [Int] = []
        for _ in 0..<2500 { taken.append(contentsOf: line.takeFirst().map { [self.number($0)] } ?? []) }
        line.putBack(pending(2500))
        while let push = line.takeFirst() { taken.append(number(push)) }
        #expect(taken == Array(1...2500) + Array(2500...3000))
        line.putBack(pending(7))
        #expect(line.takeAll().map(number) == [7])
        #expect(line.isEmpty)
    }

    // MARK: Helpers

    private mutating func openLane(peerLimit: Int) {
        _ = machine.submit(pending(0), now: start)
        _ = machine.connected(lane: 0, generation: 1, peerLimit: peerLimit, now: start)
        _ = machine.ended(lane: 0, generation: 1, .proven, now: start)
    }

    private mutating func submit(_ numbers: Int..., at moment: ContinuousClock.Instant? = nil) -> [String] {
        numbers.flatMap { texts(machine.submit(pending($0, at: moment), now: moment ?? start)) }
    }

    private func pending(_ number: Int, at moment: ContinuousClock.Instant? = nil, bytes: Int = 0) -> PendingPush {
        let request = PushRequest(
            deviceToken: "aa",
            environment: .production,
            topic: "t",
            messageID: UUIDBits(high: 0, low: UInt64(number)),
            payload: [UInt8](repeating: 0x78, count: bytes)
        )
        return PendingPush(
            order: .init(request: request, deviceToken: "aa", topic: "t", submittedAt: moment ?? start) { _ in }
        )
    }

    private func number(_ push: PendingPush) -> Int { Int(push.order.request.messageID.low) }

    private func texts(_ actions: [PoolMachine.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .connect(let lane, let generation, let after):
                "connect \(lane).\(generation) \(after == .zero ? "now" : "later")"
            case .dispatch(let push, let lane, let generation): "send \(number(push)) on \(lane).\(generation)"
            case .finish(let push, .notSent(let reason, _)): "end \(number(push)) notSent \(reason)"
            case .finish(let push, let outcome): "end \(number(push)) \(outcome)"
            case .retire(let lane, let generation, let drain): "retire \(lane).\(generation)\(drain ? " draining" : "")"
            case .wake: "wake"
            case .pace: "pace"
            }
        }
    }
}
