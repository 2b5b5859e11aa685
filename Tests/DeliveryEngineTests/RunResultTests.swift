import Kernel
import Notifications
import Testing

@testable import DeliveryEngine

struct RunResultTests {
    private let began = Timestamp(milliseconds: 1_000)

    private func result(
        _ answers: [Int64: SendResult],
        before: [Int64: DeviceDelivery] = [:],
        remaining: Duration = .seconds(6 * 3600),
        mayGoOn: Bool = true
    ) -> RunResult {
        var generator = SystemRandomNumberGenerator()
        return RunResult(
            before: before,
            answers: answers,
            began: began,
            policy: AttemptPolicy(limit: 5),
            remaining: remaining,
            claims: 1,
            mayGoOn: mayGoOn,
            using: &generator
        )
    }

    @Test(
        arguments: [
            ([1: .accepted], RunResult.Step.end(.sent, reason: nil)),
            ([1: .accepted, 2: .rejected(reason: "TopicDisallowed")], .end(.sent, reason: nil)),
            ([1: .dead(reason: "Unregistered", at: nil)], .end(.failed, reason: "Unregistered")),
            ([1: .rejected(reason: "PayloadTooLarge")], .end(.failed, reason: "PayloadTooLarge")),
            ([:], .end(.failed, reason: "no_device")),
        ] as [([Int64: SendResult], RunResult.Step)]
    )
    func `definite answers end the message`(answers: [Int64: SendResult], step: RunResult.Step) {
        #expect(result(answers).step == step)
    }

    @Test func `a dead token is remembered with the moment before which it was gone, a refusal is not (E9)`() {
        let run = result([
            1: .dead(reason: "Unregistered", at: Timestamp(milliseconds: 7)),
            2: .dead(reason: "BadDeviceToken", at: nil),
            3: .rejected(reason: "BadTopic"),
        ])
        #expect(run.deliveries[1]?.goneBefore == Timestamp(milliseconds: 7))
        #expect(run.deliveries[2]?.goneBefore == began)
        #expect(run.deliveries[3] == DeviceDelivery(state: .dead, attempts: 1, reason: "BadTopic"))
    }

    @Test func `an answered failure comes back in one to five seconds and counts`() {
        let run = result([1: .retry(reason: "InternalServerError", after: nil)])
        guard case .again(let after, let counts, .pending, "InternalServerError") = run.step else {
            Issue.record("not tried again")
            return
        }
        #expect(counts)
        #expect((1000...5000).contains(after.milliseconds))
    }

    @Test func `three quick tries, then one after a quarter of an hour, then the end (A4)`() {
        var before: [Int64: DeviceDelivery] = [:]
        var waits: [Int64] = []
        var step = RunResult.Step.end(.pending, reason: nil)
        for _ in 1...5 {
            let run = result([1: .retry(reason: "InternalServerError", after: nil)], before: before)
            before = run.deliveries
            step = run.step
            if case .again(let after, _, _, _) = step { waits.append(after.milliseconds / 1000) }
        }
        #expect(waits.count == 4)
        #expect(waits.prefix(3).allSatisfy { (1...5).contains($0) })
        #expect(waits.last.map { (900...960).contains($0) } == true)
        #expect(step == .end(.failed, reason: "InternalServerError"))
    }

    @Test func `a device outstanding beside an accepted one keeps the row sent and the job alive`() {
        let run = result([1: .accepted, 2: .retry(reason: "ServiceUnavailable", after: nil)])
        guard case .again(_, true, .sent, nil) = run.step else {
            Issue.record("\(run.step)")
            return
        }
        #expect(run.deliveries[1]?.state == .accepted)
    }

    @Test(arguments: [
        SendResult.notSent(reason: "disconnected", after: nil), .throttled(reason: "TooManyRequests", after: nil),
    ])
    func `outages and throttling count no attempt`(answer: SendResult) {
        let run = result([1: answer])
        guard case .again(let after, false, .pending, _) = run.step else {
            Issue.record("\(run.step)")
            return
        }
        #expect(run.deliveries[1]?.attempts == 0)
        #expect((1000...60_000).contains(after.milliseconds))
    }

    @Test func `the provider's own waiting time is respected`() {
        guard case .again(let after, _, _, _) = result([1: .retry(reason: "x", after: .seconds(90))]).step else {
            Issue.record("not tried again")
            return
        }
        #expect(after == .seconds(90))
    }

    @Test func `unknown stays unknown whatever follows, and ends unknown (E10)`() {
        var run = result([1: .unknown(reason: "connection lost")])
        #expect(run.deliveries[1]?.state == .unknown)
        run = result([1: .retry(reason: "InternalServerError", after: nil)], before: run.deliveries)
        #expect(run.deliveries[1]?.state == .unknown)
        run = result([1: .notSent(reason: "x", after: nil)], before: run.deliveries, remaining: .zero)
        #expect(run.step == .end(.unknown, reason: "x"))
        run = result([1: .accepted], before: run.deliveries)
        #expect(run.step == .end(.sent, reason: nil))
    }

    @Test(arguments: [SendResult.dead(reason: "Unregistered", at: nil), .rejected(reason: "BadTopic")])
    func `a refusal after an unknown answer proves nothing: it ends unknown, not failed (E10)`(answer: SendResult) {
        let before = [Int64(1): DeviceDelivery(state: .unknown, attempts: 1)]
        let run = result([1: answer], before: before)
        #expect(run.step == .end(.unknown, reason: answer.reason))
    }

    @Test func `what cannot be tried within its time to live expires`() {
        let run = result([1: .retry(reason: "InternalServerError", after: .seconds(60))], remaining: .seconds(59))
        #expect(run.step == .end(.expired, reason: "expired"))
    }

    @Test func `a job claimed too often fails`() {
        #expect(result([1: .notSent(reason: "x", after: nil)], mayGoOn: false).step == .end(.failed, reason: "x"))
    }
}
