import Kernel
import NotificationContract
import Notifications
import Testing

@testable import DeliveryEngine

struct RunPlanTests {
    private let now = Timestamp(milliseconds: 1_796_117_400_000)

    private func plan(
        _ stored: StoredMessage?,
        category: CategoryID = .reminder,
        claims: Int = 1,
        deferredFailure: String? = nil,
        change: (inout Recipient) -> Void = { _ in }
    ) throws -> RunPlan {
        let job = try ParsedJob.example(category, at: now, claims: claims, deferredFailure: deferredFailure)
        let device = RecipientDevice(
            id: 1,
            provider: .apns,
            token: "aa",
            environment: .production,
            topic: "app",
            registeredAt: now
        )
        var recipient = Recipient(
            isPermissionGranted: true,
            devices: [device],
            categorySwitch: true,
            localMinute: 720,
            weekKey: "2026-W49",
            stored: stored
        )
        change(&recipient)
        return RunPlan(job: job, recipient: recipient, now: now, claimLimit: 100, attemptLimit: 5)
    }

    private func row(
        _ status: MessageStatus,
        week: String? = "2026-W49",
        _ deliveries: [Int64: DeviceDelivery] = [:]
    ) -> StoredMessage {
        StoredMessage(userID: "u", category: "reminder", status: status, weekKey: week, deliveries: deliveries)
    }

    @Test func `a new message takes a slot, a written one does not take another (R2)`() throws {
        #expect(try plan(nil) == .deliver(needsSlot: true))
        #expect(try plan(row(.pending)) == .deliver(needsSlot: false))
        #expect(try plan(row(.pending, week: nil)) == .deliver(needsSlot: true))
        #expect(try plan(row(.failed)) == .deliver(needsSlot: true))
        var uncounted = row(.pending, week: nil)
        uncounted.isCapOpen = true
        #expect(try plan(uncounted) == .deliver(needsSlot: false), "it went through gate 4 while the caps were away")
    }

    @Test func `a row with another user or category under the same id is a collision`() throws {
        var other = row(.sent)
        other.userID = "somebody"
        #expect(try plan(other) == .conclude(.failed, reason: "id_collision", gate: "identity"))
        other = row(.sent)
        other.category = "campaign"
        #expect(try plan(other) == .conclude(.failed, reason: "id_collision", gate: "identity"))
    }

    @Test(arguments: [MessageStatus.sent, .unknown, .expired, .suppressed, .cancelled])
    func `a finished row only ends its job (E10)`(status: MessageStatus) throws {
        #expect(try plan(row(status)) == .conclude(status, reason: nil, gate: nil))
    }

    @Test func `a sent row with a device outstanding goes to that device without gates`() throws {
        let deliveries: [Int64: DeviceDelivery] = [
            1: DeviceDelivery(state: .accepted, attempts: 1), 2: DeviceDelivery(state: .retry, attempts: 1),
        ]
        let later = now + .seconds(60)
        #expect(try plan(row(.sent, deliveries)) { $0.silenceUntil = later } == .deliver(needsSlot: false))
    }

    @Test func `a pending row asks the gates again`() throws {
        let later = now + .seconds(60)
        #expect(
            try plan(row(.pending)) { $0.silenceUntil = later }
                == .conclude(.suppressed, reason: "silence", gate: "silence")
        )
    }

    @Test func `what may have arrived ends unknown when a gate refuses it now`() throws {
        let stored = row(.pending, [1: DeviceDelivery(state: .unknown, attempts: 1)])
        #expect(
            try plan(stored) { $0.isPermissionGranted = false }
                == .conclude(.unknown, reason: "permission", gate: "permission")
        )
    }

    @Test func `what arrived ends sent when a gate refuses it now, whatever its row says (E10)`() throws {
        // A worker that lost its lock recorded the acceptance, and nothing else.
        let accepted: [Int64: DeviceDelivery] = [
            1: DeviceDelivery(state: .accepted, attempts: 1), 2: DeviceDelivery(state: .unknown, attempts: 1),
        ]
        for status in [MessageStatus.pending, .failed] {
            let stored = row(status, accepted)
            #expect(try plan(stored) { $0.isPermissionGranted = false } == .conclude(.sent, reason: nil, gate: nil))
            #expect(try plan(stored, deferredFailure: "x") == .conclude(.sent, reason: nil, gate: nil))
        }
    }

    @Test func `a job that stalled too often fails, or ends unknown where it may have arrived`() throws {
        #expect(
            try plan(nil, deferredFailure: "job stalled more than allowable limit")
                == .conclude(.failed, reason: "stalled", gate: "queue")
        )
        let uncertain = row(.pending, [1: DeviceDelivery(state: .unknown, attempts: 1)])
        #expect(try plan(uncertain, deferredFailure: "x") == .conclude(.unknown, reason: "stalled", gate: "queue"))
        #expect(try plan(row(.pending), claims: 101) == .conclude(.failed, reason: "stalled", gate: "queue"))
    }
}
