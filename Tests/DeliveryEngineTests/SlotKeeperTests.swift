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
            registry: .standard,
            configuration: EngineConfiguration(),
            clock: ContinuousClock(),
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

    @Test func `one that ended before, or meanwhile, holds no slot afterwards (R2)`() async throws {
        let (before, meanwhile) = (message(keepsSlot: false), message())
        ports.change { state in
            state.uncounted = [before, meanwhile]
            state.endingMeanwhile = [meanwhile.id]
        }
        try await keeper.countUncounted()
        #expect(ports.read { $0.forced.map(\.messageID) } == [meanwhile.id])
        #expect(ports.read { Set($0.givenBack.map(\.messageID)) } == [before.id, meanwhile.id])
    }

    @Test func `a row past its time to live and an hour is ended, its slot given back first (R2)`() async throws {
        let (unsent, uncertain) = (message(), message(keepsSlot: true))
        let lost = UpkeptMessage(
            id: unsent.id,
            userID: "u",
            category: .reminder,
            weekKey: "2026-W49",
            keepsSlot: false
        )
        ports.change { $0.lost = [lost, uncertain] }
        try await keeper.endLost(lookBack: .seconds(86_400))
        #expect(ports.read { $0.givenBack.map(\.messageID) } == [lost.id], "what may have arrived keeps its slot")
        #expect(ports.read(\.endedAsLost) == [lost.id, uncertain.id])
        #expect(ports.read { $0.lostAges[.reminder] } == .seconds(7 * 3600))
        #expect(ports.read { $0.lostAges[.lifecycle] } == .seconds(73 * 3600))
    }

    @Test func `a row is not ended while its slot cannot be given back`() async throws {
        let lost = message(keepsSlot: false)
        ports.change { state in
            state.lost = [lost]
            state.giveBackFails = true
        }
        await #expect(throws: MemoryPorts.Outage.self) { try await keeper.endLost(lookBack: .seconds(86_400)) }
        #expect(ports.read(\.endedAsLost).isEmpty)
    }
}
