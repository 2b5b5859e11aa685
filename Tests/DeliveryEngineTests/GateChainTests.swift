import Kernel
import NotificationContract
import Notifications
import Testing

@testable import DeliveryEngine

struct GateChainTests {
    private static let now = Timestamp(milliseconds: 1_796_117_400_000)

    private static func reachable(_ change: (inout Recipient) -> Void = { _ in }) -> Recipient {
        var recipient = Recipient(
            isPermissionGranted: true,
            devices: [
                RecipientDevice(
                    id: 1,
                    provider: .apns,
                    token: "aa",
                    environment: .production,
                    topic: "app",
                    registeredAt: now
                )
            ],
            categorySwitch: true,
            localMinute: 12 * 60,
            weekKey: "2026-W49",
            nextOpening: now + .seconds(3600)
        )
        change(&recipient)
        return recipient
    }

    private func judge(
        _ category: CategoryID,
        _ recipient: Recipient,
        due: Timestamp = now,
        isTest: Bool = false
    ) throws -> (gate: String, answer: GateAnswer)? {
        let candidate = GateCandidate(
            category: try CategoryRegistry.standard.category(category),
            messageID: MessageID(at: due, entropy: [UInt8](repeating: 7, count: 10)),
            due: due,
            recipient: recipient,
            isTest: isTest
        )
        return GateChain.judge(candidate, now: Self.now)
    }

    @Test func `the gates stand in their order (E1-E3, E11)`() {
        #expect(
            GateChain.gates.map(\.name) == ["cancelled", "expired", "permission", "silence", "category", "window"]
        )
    }

    @Test(arguments: [CategoryID.reminder, .lifecycle, .campaign])
    func `a reachable user at noon passes every gate`(category: CategoryID) throws {
        #expect(try judge(category, Self.reachable()) == nil)
    }

    @Test func `a campaign's test passes the switch, and neither permission nor silence (P8)`() throws {
        let off = Self.reachable { $0.categorySwitch = false }
        #expect(try judge(.campaign, off)?.gate == "category")
        #expect(try judge(.campaign, off, isTest: true) == nil)
        let denied = Self.reachable { $0.isPermissionGranted = false }
        #expect(try judge(.campaign, denied, isTest: true)?.gate == "permission")
        let quiet = Self.reachable { $0.silenceUntil = Self.now + .seconds(1) }
        #expect(try judge(.campaign, quiet, isTest: true)?.gate == "silence")
    }

    @Test(arguments: [
        ("cancelled", MessageStatus.cancelled, "renewed", Self.reachable { $0.cancellationReason = "renewed" }),
        ("permission", .suppressed, "permission", Self.reachable { $0.isPermissionGranted = false }),
        ("permission", .suppressed, "permission", Self.reachable { $0.devices = [] }),
        ("silence", .suppressed, "silence", Self.reachable { $0.silenceUntil = now + .milliseconds(1) }),
        ("category", .suppressed, "category_off", Self.reachable { $0.categorySwitch = false }),
    ])
    func `each gate drops with its reason`(
        gate: String,
        status: MessageStatus,
        reason: String,
        recipient: Recipient
    ) throws {
        let verdict = try judge(.reminder, recipient)
        #expect(verdict?.gate == gate)
        #expect(verdict?.answer == .drop(status: status, reason: reason))
    }

    @Test func `the first refusing gate decides`() throws {
        let recipient = Self.reachable {
            $0.isPermissionGranted = false
            $0.silenceUntil = Self.now + .seconds(60)
            $0.categorySwitch = false
        }
        #expect(try judge(.reminder, recipient)?.gate == "permission")
    }

    @Test func `silence that has ended is over`() throws {
        #expect(try judge(.reminder, Self.reachable { $0.silenceUntil = Self.now }) == nil)
    }

    @Test func `silence applies to lifecycle, the switch does not (E2, E3)`() throws {
        #expect(try judge(.lifecycle, Self.reachable { $0.categorySwitch = false }) == nil)
        let silenced = Self.reachable { $0.silenceUntil = Self.now + .seconds(1) }
        #expect(try judge(.lifecycle, silenced)?.gate == "silence")
    }

    @Test func `who never chose gets the registry's default (C1)`() throws {
        let unasked = Self.reachable { $0.categorySwitch = nil }
        #expect(try judge(.reminder, unasked) == nil)
        #expect(try judge(.campaign, unasked)?.answer == .drop(status: .suppressed, reason: "category_off"))
    }

    @Test(arguments: [(CategoryID.reminder, 6), (.campaign, 24), (.lifecycle, 72)])
    func `time to live counts from the due time, its end excluded (E11)`(category: CategoryID, hours: Int) throws {
        let life = Duration.seconds(hours * 3600)
        #expect(try judge(category, Self.reachable(), due: Self.now - life + .milliseconds(1)) == nil)
        #expect(
            try judge(category, Self.reachable(), due: Self.now - life)?.answer
                == .drop(status: .expired, reason: "expired")
        )
    }

    @Test(arguments: [8 * 60 - 1, 21 * 60, 3 * 60])
    func `outside its window a reminder is dropped and lifecycle goes on (E11)`(minute: Int) throws {
        let night = Self.reachable { $0.localMinute = minute }
        #expect(try judge(.reminder, night)?.answer == .drop(status: .expired, reason: "outside_window"))
        #expect(try judge(.lifecycle, night) == nil)
    }

    @Test func `outside its window a campaign moves to the next opening, spread within half an hour (E11)`() throws {
        let night = Self.reachable { $0.localMinute = 3 * 60 }
        guard case .defer(let until) = try judge(.campaign, night)?.answer else {
            Issue.record("not deferred")
            return
        }
        let opening = Self.now + .seconds(3600)
        #expect(until >= opening && until < opening + .seconds(30 * 60))
        #expect(try judge(.campaign, night)?.answer == .defer(until: until), "the same message makes the same choice")
    }

    @Test func `a campaign whose next opening is past its time to live expires now`() throws {
        let night = Self.reachable {
            $0.localMinute = 3 * 60
            $0.nextOpening = Self.now + .seconds(5 * 3600)
        }
        let due = Self.now - .seconds(20 * 3600)
        #expect(try judge(.campaign, night, due: due)?.answer == .drop(status: .expired, reason: "expired"))
    }
}
