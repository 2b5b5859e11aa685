import Kernel
import NotificationContract
import Notifications
import Observability
import Testing

@testable import DeliveryEngine

/// What is put right beside the pipeline (contracts of the reaper and of uncounted messages).
struct SlotKeeperTests {
    private let ports = MemoryPorts()
    private let ids = MessageIDGenerator(clock: SystemWallClock())

    private var keeper: SlotKeeper {
        SlotKeeper(
            upkeep: ports,
            caps: ports,
            debts: ports,
            statistics: ports,
            registry: .standard,
            configuration: EngineConfiguration(),
            clock: ContinuousClock(),
            wallClock: FixedWallClock(ports.now),
            telemetry: .silent(),
            metrics: EngineMetrics(registry: MetricsRegistry()) { 0 }
        )
    }

    private func message(_ category: CategoryID = .reminder, week: String? = "2026-W49", keepsSlot: Bool = true)
        -> UpkeptMessage
    {
        UpkeptMessage(id: ids.next(), userID: "u", category: category, weekKey: week, keepsSlot: keepsSlot)
    }

    @Test func `uncounted messages take their slots by force, and are not asked for again (R3)`() async throws {
        let (first, second) = (message(), message(.lifecycle))
        ports.change { $0.uncounted = [first, second] }
        try await keeper.countUncounted()
        let forced = ports.read(\.forced)
        #expect(forced.map(\.messageID) == [first.id, second.id])
        #expect(forced.map(\.globalCap) == [4, nil])
        #expect(ports.read(\.uncounted).isEmpty)
        #expect(ports.read(\.givenBack).isEmpty)
    }

    @Test func `more than one group is counted in one go`() async throws {
        let many = (0..<600).map { _ in message() }
        ports.change { $0.uncounted = many }
        try await keeper.countUncounted()
        #expect(ports.read { $0.forced.count } == 600)
    }

    @Test func `while the caps are away uncounted messages stay marked (R3)`() async throws {
        let one = message()
        ports.change { state in
            state.uncounted = [one]
            state.capsAreAway = true
        }
        try await keeper.countUncounted()
        #expect(ports.read(\.uncounted) == [one])
        #expect(ports.read(\.marked).isEmpty)
    }

    @Test func `the slot of one that ended before, or changed meanwhile, is looked at again (R2)`() async throws {
        let (before, meanwhile) = (message(keepsSlot: false), message())
        ports.change { state in
            state.uncounted = [before, meanwhile]
            state.endingMeanwhile = [meanwhile.id]
        }
        try await keeper.countUncounted()
        #expect(ports.read { $0.forced.map(\.messageID) } == [meanwhile.id])
        #expect(ports.read { Set($0.debts.map(\.messageID)) } == [before.id, meanwhile.id])
        #expect(
            ports.read(\.marked) == [before.id],
            "the other stays marked as uncounted until it was looked at as it is"
        )
    }

    @Test func `a row past its time to live and an hour is ended and counted, also while the caps are away (R2, E7)`()
        async throws
    {
        let (unsent, uncertain) = (message(keepsSlot: false), message(keepsSlot: true))
        ports.change { state in
            state.lost = [unsent, uncertain]
            state.giveBackFails = true
        }
        try await keeper.endLost(lookBack: .seconds(86_400))
        #expect(ports.read(\.endedAsLost) == [unsent.id, uncertain.id])
        #expect(ports.read { $0.lostAges[.reminder] } == .seconds(7 * 3600))
        #expect(ports.read { $0.lostAges[.lifecycle] } == .seconds(73 * 3600))
        let counts = ports.read(\.counts)
        #expect(
            counts == [
                OutcomeCount(category: "reminder", outcome: "failed"): 1,
                OutcomeCount(category: "reminder", outcome: "unknown"): 1,
            ]
        )
    }

    @Test func `slots that were to be freed are freed when the caps answer, and stay noted until then (R3)`()
        async throws
    {
        let user = try #require(UserID("u"))
        let debts = (0..<300).map { _ in
            SlotDebt(messageID: ids.next(), userID: user, category: .campaign, weekKey: "2026-W49")
        }
        let retired = SlotDebt(
            messageID: ids.next(),
            userID: user,
            category: CategoryID("retired"),
            weekKey: "2026-W49"
        )
        ports.change { state in
            state.debts = debts + [retired]
            state.giveBackFails = true
        }
        await #expect(throws: MemoryPorts.Outage.self) { try await keeper.settleDebts() }
        #expect(ports.read { $0.debts.count } == 301)
        ports.change { $0.giveBackFails = false }
        try await keeper.settleDebts()
        #expect(ports.read { $0.givenBack.map(\.messageID) } == debts.map(\.messageID))
        #expect(ports.read { $0.givenBack.allSatisfy { $0.globalCap == 4 } })
        #expect(ports.read(\.debts).isEmpty)
    }
}
