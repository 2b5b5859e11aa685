import Kernel
import NotificationBus
import NotificationContract
import Notifications
import Observability
import Synchronization
import Testing

@testable import DeliveryEngine

/// The stages together, over ports in memory.
@Suite(.timeLimit(.minutes(1)))
struct PipelineTests {
    private func withEngine(
        _ configure: (inout EngineConfiguration) -> Void = { _ in },
        registry: MetricsRegistry = MetricsRegistry(),
        _ body: (MemoryPorts) async throws -> Void
    ) async throws {
        let ports = MemoryPorts()
        let catalog = Catalog(texts: [:], appName: "App")
        var configuration = EngineConfiguration()
        configure(&configuration)
        let engine = DeliveryEngine(
            ports: EnginePorts(
                jobs: ports,
                recipients: ports,
                caps: ports,
                messages: ports,
                push: ports,
                outcomes: ports,
                tokens: ports,
                statistics: ports,
                upkeep: ports,
                slotDebts: ports
            ),
            registry: .standard,
            catalog: catalog,
            parser: NotificationParser(registry: .standard, catalog: catalog, deeplinkSchemes: ["im"]),
            identity: MessageIdentity(prefix: "p", queue: "q") { bytes in
                (0..<32).map { index in bytes.reduce(UInt8(index)) { $0 &* 31 &+ $1 } }
            },
            configuration: configuration,
            wallClock: FixedWallClock(ports.now),
            telemetry: Telemetry(logger: Telemetry.silent().logger, metrics: registry)
        )
        let stop = BoundedChannel<Void>(capacity: 1)
        let running = Task { await engine.run { _ = await stop.receive() } }
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(ports)) } catch { outcome = .failure(error) }
        stop.finish()
        ports.change { $0.isStopped = true }
        await running.value
        #expect(engine.jobsInFlight == 0)
        try outcome.get()
    }

    @Test func `a job goes through every stage and is ended once`() async throws {
        try await withEngine { ports in
            ports.add("u1")
            await ports.until { $0.ended.count == 1 }
            let state = ports.read { $0 }
            #expect(state.ended.first?.ending == .completed(returnValue: #"{"outcome":"sent","reason":null}"#))
            #expect(state.pushes.count == 1)
            #expect(state.written.count == 1)
            let events = state.records.flatMap(\.events)
            #expect(events.map(\.kind) == [.enqueued, .sent])
            #expect(events.allSatisfy { $0.detail?["literal"] == true }, "it brought words of its own")
        }
    }

    @Test func `a failed write postpones the group without an attempt, and holds back the next claim`() async throws {
        try await withEngine { ports in
            ports.change { $0.writeFails = true }
            ports.add("u1")
            await ports.until { $0.ended.count == 1 }
            ports.add("u2")
            await ports.until { $0.ended.count == 2 }
            var waits: [Duration] = []
            for ended in ports.read(\.ended) {
                guard case .again(let moment, false, _) = ended.ending else {
                    Issue.record("\(ended.ending)")
                    return
                }
                waits.append(moment - ports.now)
            }
            #expect(waits[0] >= .seconds(1) && waits[0] <= .seconds(2))
            // That reading works in between must not count as the end of the outage: the second pause is longer.
            #expect(waits[1] >= .seconds(2) && waits[1] <= .seconds(4))
            ports.change { $0.writeFails = false }
            ports.add("u3")
            await ports.until { $0.ended.count == 3 }
        }
    }

    @Test func `a slot taken by a run that was cut short before its write comes back when a gate refuses (R2)`()
        async throws
    {
        try await withEngine { ports in
            var silent = MemoryPorts.reachable
            silent.silenceUntil = ports.now + .seconds(3600)
            ports.change { [silent] in $0.recipients["u1"] = silent }
            ports.add("u1", claims: 2)
            await ports.until { !$0.givenBack.isEmpty }
            #expect(ports.read { Set($0.givenBack.map(\.weekKey)) } == ["2026-W48", "2026-W49", "2026-W50"])
        }
    }

    @Test(arguments: [MessageStatus.suppressed, .expired, .cancelled])
    func `a row that is over gives its slot back again, in case the last run could not (R2)`(status: MessageStatus)
        async throws
    {
        try await withEngine { ports in
            var recipient = MemoryPorts.reachable
            recipient.stored = StoredMessage(
                userID: "u1",
                category: "lifecycle",
                status: status,
                weekKey: "2026-W48"
            )
            ports.change { [recipient] in $0.recipients["u1"] = recipient }
            ports.add("u1", claims: 2)
            await ports.until { !$0.ended.isEmpty && !$0.givenBack.isEmpty }
            #expect(ports.read { Set($0.givenBack.map(\.weekKey)) } == ["2026-W47", "2026-W48", "2026-W49"])
        }
    }

    @Test func `caps that are away hold up nobody, and the slot is freed when they are back (R3)`() async throws {
        try await withEngine {
            $0.uncountedCheck = .milliseconds(1)
        } _: { ports in
            ports.change {
                $0.answer = .dead(reason: "Unregistered", at: nil)
                $0.giveBackFails = true
            }
            ports.add("u1")
            await ports.until { $0.ended.count == 1 }
            #expect(ports.read(\.givenBack).isEmpty)
            #expect(ports.read { $0.debts.map(\.userID.rawValue) } == ["u1"])
            ports.change { $0.giveBackFails = false }
            await ports.until { $0.debts.isEmpty }
            #expect(ports.read { $0.givenBack.map(\.userID.rawValue) } == ["u1"])
        }
    }

    @Test func `a job whose slot can neither be freed nor noted is not ended, so that another run frees it (R3)`()
        async throws
    {
        try await withEngine {
            $0.outagePatience = .zero
        } _: { ports in
            ports.change {
                $0.answer = .dead(reason: "Unregistered", at: nil)
                $0.giveBackFails = true
                $0.owingFails = true
            }
            ports.add("u1")
            await ports.until { $0.owingTries == 1 }
            ports.change { $0.owingFails = false }
            ports.add("u2")
            await ports.until { !$0.ended.isEmpty }
            #expect(ports.read { $0.ended.map(\.id) } == ["job-u2-1"])
            #expect(ports.read { $0.debts.map(\.userID.rawValue) } == ["u2"])
        }
    }

    @Test func `a run that takes a slot anew first forgets that it was to be freed (R2)`() async throws {
        try await withEngine { ports in
            ports.add("u1", claims: 2)
            ports.add("u2")
            await ports.until { $0.ended.count == 2 }
            #expect(ports.read { $0.forgotten.map(\.userID.rawValue) } == ["u1"], "a first run owes nothing")
            #expect(ports.read { $0.forgotten.map(\.weekKey) } == ["2026-W49"])
        }
    }

    @Test func `without knowing that the debt is forgotten no slot is taken (R2)`() async throws {
        try await withEngine { ports in
            ports.change { $0.forgettingFails = true }
            ports.add("u1", claims: 2)
            await ports.until { $0.ended.count == 1 }
            let isUntouched = ports.read { $0.written.isEmpty && $0.pushes.isEmpty && $0.taken.isEmpty }
            #expect(isUntouched)
        }
    }

    @Test func `a lost lock records acceptances and the loss, and ends nothing (E10)`() async throws {
        try await withEngine { ports in
            ports.change { $0.lostLocks = ["job-u1-1"] }
            ports.add("u1")
            await ports.until { $0.records.contains { $0.events.contains { $0.kind == .lockLost } } }
            let last = ports.read { $0.records.last }
            #expect(last?.status == nil)
            #expect(last?.events.map(\.kind) == [.lockLost])
        }
    }

    @Test func `a worker whose locks lapsed records acceptances alone, frees nothing and ends nothing (E10)`()
        async throws
    {
        try await withEngine {
            $0.lockDuration = .zero
        } _: { ports in
            ports.add("u1")
            ports.add("u2", claims: 2)
            await ports.until { $0.records.filter { $0.events.contains { $0.kind == .lockLost } }.count == 2 }
            let state = ports.read { $0 }
            #expect(state.records.allSatisfy { $0.status == nil && $0.acceptedAt != nil })
            #expect(state.givenBack.isEmpty && state.debts.isEmpty && state.ended.isEmpty)
        }
    }

    @Test func `an ending whose reply was lost is asked for again as a repeat, and is no lost lock (E8)`() async throws
    {
        try await withEngine { ports in
            ports.change { $0.endsLost = 1 }
            ports.add("u1")
            await ports.until { $0.endRepeats.count == 2 }
            #expect(ports.read(\.endRepeats) == [false, true])
            #expect(ports.read { $0.ended.map(\.id) } == ["job-u1-1", "job-u1-1"])
        }
    }

    @Test func `a failed message that is let run again at night is pending until the morning (E11)`() async throws {
        try await withEngine { ports in
            var recipient = MemoryPorts.reachable
            recipient.localMinute = 60
            recipient.nextOpening = ports.now + .seconds(3600)
            recipient.stored = StoredMessage(
                userID: "u1",
                category: "campaign",
                status: .failed,
                weekKey: "2026-W49",
                deliveries: [
                    1: DeviceDelivery(state: .dead, attempts: 1, reason: "BadTopic"),
                    7: DeviceDelivery(state: .dead, attempts: 1, reason: "Unregistered", goneBefore: ports.now),
                ]
            )
            ports.change { [recipient] in $0.recipients["u1"] = recipient }
            ports.add("u1", category: .campaign, claims: 2)
            await ports.until { !$0.ended.isEmpty }
            let record = ports.read { $0.records.last }
            #expect(record?.status == .pending && record?.clearsWeek == true)
            #expect(record?.deliveries[1] == DeviceDelivery(state: .retry, attempts: 0))
            #expect(record?.deliveries[7]?.state == .dead)
            #expect(record?.events.map(\.kind) == [.deferred])
        }
    }

    @Test func `the slot of a run cut short before it wrote its week goes back when a gate refuses (R2)`() async throws
    {
        try await withEngine { ports in
            var recipient = MemoryPorts.reachable
            recipient.isPermissionGranted = false
            // A deferral cleared the week; the run after it took a slot and was killed.
            recipient.stored = StoredMessage(userID: "u1", category: "reminder", status: .pending)
            ports.change { [recipient] in $0.recipients["u1"] = recipient }
            ports.add("u1", category: .reminder, claims: 3)
            await ports.until { !$0.ended.isEmpty }
            #expect(ports.read { $0.givenBack.map(\.weekKey) }.contains("2026-W49"))
        }
    }

    @Test func `a job that is given back or put off at its first run has told when it was queued (E7)`() async throws {
        try await withEngine { ports in
            ports.change { $0.readFails = true }
            ports.add("u1")
            await ports.until { !$0.ended.isEmpty }
            #expect(ports.read { $0.records.flatMap(\.events).map(\.kind) } == [.enqueued])
        }
    }

    @Test func `a slot taken before the week turned, by a run cut short before its row, does not leak (R2)`()
        async throws
    {
        try await withEngine { ports in
            ports.add("u1", category: .reminder, claims: 2)
            await ports.until { !$0.ended.isEmpty && !$0.givenBack.isEmpty }
            #expect(ports.read { $0.written.map(\.weekKey) } == ["2026-W49"])
            #expect(ports.read { Set($0.givenBack.map(\.weekKey)) } == ["2026-W48", "2026-W50"], "never its own")
        }
    }

    @Test func `a first run asks for no slot of another week`() async throws {
        try await withEngine { ports in
            ports.add("u1", category: .reminder)
            await ports.until { $0.ended.count == 1 }
            #expect(ports.read(\.givenBack).isEmpty)
        }
    }

    @Test func `an uncounted message writes the week whose slot it owes (R3)`() async throws {
        try await withEngine { ports in
            ports.change { $0.capAnswer = .uncounted }
            ports.add("u1")
            await ports.until { $0.ended.count == 1 }
            let row = ports.read { $0.written.first }
            #expect(row?.weekKey == "2026-W49" && row?.isCapOpen == true)
        }
    }

    @Test func `a record whose reply was lost is given again as a repeat (E8)`() async throws {
        try await withEngine { ports in
            ports.change { $0.recordsLost = 1 }
            ports.add("u1")
            await ports.until { $0.ended.count == 1 }
            #expect(ports.read(\.repeats) == [false, true])
        }
    }

    @Test func `every stage tells its time, and the outcome is counted by category (E7)`() async throws {
        let registry = MetricsRegistry()
        try await withEngine(registry: registry) { ports in
            ports.add("u1")
            await ports.until { $0.ended.count == 1 }
        }
        for stage in ["claim", "read", "caps", "write", "record", "end"] {
            let times = registry.histogram(
                "delivery_stage_duration_seconds",
                help: "",
                labels: [("stage", stage)]
            )
            #expect(times.snapshot.counts.reduce(0, +) == 1, "\(stage)")
        }
        for name in ["delivery_queue_wait_seconds", "delivery_send_duration_seconds"] {
            #expect(registry.histogram(name, help: "").snapshot.counts.reduce(0, +) == 1, "\(name)")
        }
        let sent = registry.counter(
            "delivery_outcomes_total",
            help: "",
            labels: [("category", "lifecycle"), ("outcome", "sent")]
        )
        #expect(sent.current == 1)
    }

    @Test func `one that may have arrived is unknown, not suppressed, when its week is full`() async throws {
        try await withEngine { ports in
            var recipient = MemoryPorts.reachable
            recipient.stored = StoredMessage(
                userID: "u1",
                category: "reminder",
                status: .pending,
                deliveries: [1: DeviceDelivery(state: .unknown, attempts: 1)]
            )
            ports.change { [recipient] in
                $0.recipients["u1"] = recipient
                $0.capAnswer = .categoryFull
            }
            ports.add("u1", category: .reminder, claims: 2)
            await ports.until { !$0.ended.isEmpty }
            #expect(
                ports.read { $0.ended.first?.ending }
                    == .completed(returnValue: #"{"outcome":"unknown","reason":"cap_category"}"#)
            )
        }
    }
}

struct InFlightJobsTests {
    private func job(_ token: String) -> LeasedJob {
        LeasedJob(
            id: "1",
            token: token,
            data: "",
            timestamp: nil,
            delay: .zero,
            attemptsStarted: 1,
            attemptsLimit: nil,
            deferredFailure: nil
        )
    }

    @Test func `a job taken again by the same worker is another lease`() {
        let jobs = InFlightJobs(lockDuration: .seconds(30))
        jobs.add([job("first")], takenSince: .now)
        let asked = jobs.held
        jobs.add([job("second")], takenSince: .now)
        jobs.renewed(asked, except: ["1"], since: .now)
        #expect(jobs.isLost(job("first")))
        #expect(!jobs.isLost(job("second")))
        jobs.remove([job("first")])
        #expect(jobs.held.map(\.token) == ["second"])
    }

    @Test func `a lock that was not renewed for as long as it lives is lost, until a renewal says otherwise (E10)`() {
        let start = ContinuousClock.now
        let passed = Mutex(Duration.zero)
        let jobs = InFlightJobs(lockDuration: .seconds(30)) { start + passed.withLock { $0 } }
        jobs.add([job("t")], takenSince: start)
        passed.withLock { $0 = .seconds(29) }
        #expect(!jobs.isLost(job("t")))
        passed.withLock { $0 = .seconds(30) }
        #expect(jobs.isLost(job("t")))
        // A renewal counts from before it was asked for.
        jobs.renewed(jobs.held, except: [], since: start + .seconds(20))
        #expect(!jobs.isLost(job("t")))
        passed.withLock { $0 = .seconds(50) }
        #expect(jobs.isLost(job("t")))
    }
}
