import Kernel
import Notifications
import Observability
import PushSimulator
import Synchronization
import Testing

@testable import PushTransport

/// How the transport treats connections, against the simulator over real ones.
@Suite(.serialized)
struct TransportConnectionTests {
    @Test func `one canary goes first, then all on one connection`() async throws {
        try await PushBench.run { bench in
            let outcomes = await bench.sendAll(0..<1500)
            #expect(outcomes.notAccepted == [])
            #expect(bench.simulator.connectionCount == 1)
            #expect(bench.simulator.acceptedCount == 1500)
            #expect(bench.simulator.duplicateCount == 0)
            // Every push had one provider token, and none was refused for being too early.
            #expect(bench.simulator.refusedCounts.isEmpty)
            #expect(bench.telemetry.metrics.counter("apns_provider_tokens_total", help: "").current == 1)
        }
    }

    @Test func `GOAWAY loses nothing and doubles nothing`() async throws {
        try await PushBench.run(transport: { $0.streams = 100 }) { bench in
            bench.simulator.addFault(
                FaultRule(
                    .goAway(lastStreamID: nil, errorCode: 0, reason: "Shutdown"),
                    token: PushBench.token(150),
                    remaining: 1
                )
            )
            bench.simulator.addFault(FaultRule(.accept, fraction: 0.5, delay: .milliseconds(20)))
            let outcomes = await bench.sendAll(0..<600)
            #expect(outcomes.notAccepted == [])
            #expect(bench.simulator.acceptedCount == 600)
            #expect(bench.simulator.duplicateCount == 0)
            #expect(bench.simulator.connectionCount == 2)
        }
    }

    @Test func `streams above the last id of a GOAWAY are sent again, once`() async throws {
        try await PushBench.run { bench in
            #expect(await bench.send(0).isAccepted)
            // Streams 1 was the canary; of the next ones those above 21 count as never seen.
            bench.simulator.addFault(FaultRule(.accept, tokenPrefix: nil, remaining: 10))
            bench.simulator.addFault(FaultRule(.hang, remaining: 9, countsAsAccepted: false))
            bench.simulator.addFault(FaultRule(.goAway(lastStreamID: 21, errorCode: 0, reason: nil), remaining: 1))
            let outcomes = await bench.sendAll(1..<101)
            #expect(outcomes.notAccepted == [])
            #expect(bench.simulator.acceptedCount == 101)
            #expect(bench.simulator.duplicateCount == 0)
        }
    }

    @Test func `refused streams are sent again in place`() async throws {
        try await PushBench.run { bench in
            bench.simulator.addFault(FaultRule(.reset(errorCode: 7), fraction: 0.02))
            let outcomes = await bench.sendAll(0..<1000)
            #expect(outcomes.notAccepted == [])
            #expect(bench.simulator.duplicateCount == 0)
            #expect(bench.simulator.acceptedCount == 1000)
            #expect(bench.simulator.connectionCount == 1)
        }
    }

    @Test func `a push that is refused for ever goes back unsent`() async throws {
        try await PushBench.run { bench in
            #expect(await bench.send(0).isAccepted)
            bench.simulator.addFault(FaultRule(.reset(errorCode: 7), token: PushBench.token(1)))
            #expect(await bench.send(1) == .notSent(reason: "refused_stream", after: .seconds(1)))
        }
    }

    @Test func `a broken connection leaves pushes in flight unknown and loses none`() async throws {
        try await PushBench.run { bench in
            #expect(await bench.send(0).isAccepted)
            bench.simulator.addFault(FaultRule(.drop, token: PushBench.token(60), remaining: 1))
            bench.simulator.addFault(FaultRule(.hang, remaining: 30))
            let outcomes = await bench.sendAll(1..<101)
            let unknown = outcomes.unknownCount
            #expect(outcomes.allSatisfy { $0.isAccepted || $0.isUnknown }, "\(outcomes)")
            #expect(unknown >= 31)
            // What is unknown was not sent again by the transport.
            #expect(bench.simulator.duplicateCount == 0)
            #expect(await bench.send(200).isAccepted)
        }
    }

    @Test func `a peer that answers PING but no push is abandoned within the stall limit`() async throws {
        try await PushBench.run(transport: { $0.stallLimit = .milliseconds(300) }) { bench in
            #expect(await bench.warmUp())
            bench.simulator.addFault(FaultRule(.hang, remaining: 20))
            let outcomes = await bench.sendAll(1..<21)
            #expect(outcomes.unknownCount == 20)
            #expect(await bench.send(21).isAccepted)
            #expect(bench.simulator.connectionCount == 2)
            #expect(bench.simulator.duplicateCount == 0)
        }
    }

    @Test func `draining reaches connections that were already given up`() async throws {
        try await PushBench.run { bench in
            #expect(await bench.warmUp())
            bench.simulator.addFault(FaultRule(.hang, remaining: 5))
            let hung = Gathered(count: 5)
            for number in 1...5 {
                bench.transport.send(PushBench.request(number)) { hung.put($0, at: number - 1) }
            }
            bench.simulator.addFault(FaultRule(.goAway(lastStreamID: nil, errorCode: 0, reason: nil), remaining: 1))
            #expect(await bench.send(6).isAccepted)
            #expect(await bench.send(7).isAccepted)
            #expect(bench.simulator.connectionCount == 2)
            #expect(bench.transport.health.inFlight == 5)
            // The requests themselves would wait for thirty seconds.
            await bench.transport.drain(deadline: .milliseconds(200))
            #expect(await hung.all.unknownCount == 5)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `an APNs that cannot be reached is a problem until it answers again`() async throws {
        try await PushBench.run(transport: { $0.waitingTime = .milliseconds(50) }) { bench in
            // The short wait is for what follows; a busy machine may need longer to connect.
            while await !bench.send(0).isAccepted {}
            let port = bench.simulator.port
            await bench.simulator.stop()
            while bench.telemetry.health.isReady { _ = await bench.send(1) }
            #expect(bench.transport.health.problems["production"]?.contains("cannot be reached") == true)
            #expect(bench.transport.health.problems["production"]?.contains("connect_failed") == true)
            let again = try await bench.restart(port: port)
            // Nobody pushes: readiness comes back by itself.
            while !bench.telemetry.health.isReady { try await Task.sleep(for: .milliseconds(5)) }
            #expect(bench.transport.health.problems.isEmpty)
            await again.stop()
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `a name that cannot be looked up is a problem until it can, and is looked up anew each time`() async throws {
        let names = Names("no-such-host.invalid")
        try await PushBench.run(
            transport: {
                $0.waitingTime = .milliseconds(50)
                $0.lookUpName = { _ in names.next() }
            }
        ) { bench in
            while bench.telemetry.health.isReady {
                // What could not be sent comes back to be tried later.
                #expect(await bench.send(1) == .notSent(reason: "NoConnection", after: .seconds(5)))
            }
            let problem = try #require(bench.transport.health.problems["production"])
            #expect(problem.contains("cannot be reached"))
            #expect(problem.contains("looking up no-such-host.invalid"))
            let before = names.count
            names.set("127.0.0.1")
            // Nobody pushes: readiness comes back by itself, after another look-up.
            while !bench.telemetry.health.isReady { try await Task.sleep(for: .milliseconds(5)) }
            #expect(names.count > before)
            while await !bench.send(2).isAccepted {}
            #expect(bench.simulator.duplicateCount == 0)
        }
    }

    /// The name that is looked up next, and how often one was.
    private final class Names: Sendable {
        private let state: Mutex<(name: String, count: Int)>

        init(_ name: String) {
            state = Mutex((name, 0))
        }

        var count: Int { state.withLock { $0.count } }

        func set(_ name: String) { state.withLock { $0.name = name } }

        func next() -> String {
            state.withLock { state in
                state.count += 1
                return state.name
            }
        }
    }

    @Test func `a connection that no longer answers is abandoned`() async throws {
        try await PushBench.run(transport: { $0.requestTimeout = .milliseconds(300) }) { bench in
            #expect(await bench.send(0).isAccepted)
            bench.simulator.addFault(FaultRule(.hang, remaining: 3))
            let outcomes = await bench.sendAll(1..<4)
            #expect(outcomes.unknownCount == outcomes.count)
            #expect(await bench.send(5).isAccepted)
            #expect(bench.simulator.connectionCount == 2)
        }
    }

    @Test func `a stream limit that drops to one and rises again is followed`() async throws {
        try await PushBench.run { bench in
            #expect(await bench.send(0).isAccepted)
            let refusal = FaultRule.Action.refuse(status: 400, reason: "BadTopic", timestamp: nil, retryAfter: nil)
            bench.simulator.addFault(FaultRule(refusal, remaining: 1, streamLimit: 1))
            bench.simulator.addFault(FaultRule(.accept, token: PushBench.token(400), streamLimit: 1000))
            let outcomes = await bench.sendAll(1..<801)
            #expect(outcomes.acceptedCount == 799)
            #expect(bench.simulator.acceptedCount == 800)
            #expect(bench.simulator.duplicateCount == 0)
        }
    }

    @Test func `without a server pushes go back unsent after a bounded wait`() async throws {
        try await PushBench.run(transport: { $0.waitingTime = .milliseconds(200) }) { bench in
            await bench.simulator.stop()
            let outcomes = await bench.sendAll(0..<10)
            for outcome in outcomes { #expect(outcome == .notSent(reason: "NoConnection", after: .seconds(5))) }
        }
    }

    @Test func `an untrusted certificate sends nothing`() async throws {
        try await PushBench.run(
            transport: {
                $0.trustedPEM = nil
                $0.waitingTime = .milliseconds(200)
            }
        ) { bench in
            #expect(await bench.send(1) == .notSent(reason: "NoConnection", after: .seconds(5)))
            #expect(bench.simulator.connectionCount == 0)
        }
    }

    @Test func `draining answers what is in flight and gives back the rest`() async throws {
        try await PushBench.run(transport: { $0.streams = 50 }) { bench in
            #expect(await bench.warmUp())
            bench.simulator.addFault(FaultRule(.accept, delay: .milliseconds(100)))
            let gathered = Gathered(count: 200)
            for number in 1...200 {
                bench.transport.send(PushBench.request(number)) { gathered.put($0, at: number - 1) }
            }
            await bench.transport.drain(deadline: .seconds(5))
            let outcomes = await gathered.all
            // How many are on streams when the drain begins is the machine's affair: at most as many as there are streams.
            let accepted = outcomes.acceptedCount
            #expect((1...50).contains(accepted))
            #expect(outcomes.count { $0 == .notSent(reason: "Closing", after: nil) } == 200 - accepted)
            #expect(bench.simulator.acceptedCount == accepted + 2, "none that was given back arrived")
            #expect(await bench.send(201) == .notSent(reason: "Closing", after: nil))
        }
    }

    @Test func `draining ends at its deadline, with what is open as unknown`() async throws {
        try await PushBench.run { bench in
            #expect(await bench.warmUp())
            bench.simulator.addFault(FaultRule(.hang))
            let gathered = Gathered(count: 10)
            for number in 1...10 {
                bench.transport.send(PushBench.request(number)) { gathered.put($0, at: number - 1) }
            }
            await bench.transport.drain(deadline: .milliseconds(200))
            #expect(await gathered.all.unknownCount == 10)
        }
    }

    @Test func `an expired provider token is renewed once and each push delivered once`() async throws {
        let elapsed = Mutex(Duration.zero)
        let start = ContinuousClock.now
        let clock = FixedWallClock(SystemWallClock().now)
        try await PushBench.run(
            simulator: { $0.clock = clock },
            wallClock: clock,
            now: { start + (ContinuousClock.now - start) + elapsed.withLock { $0 } }
        ) { bench in
            #expect(await bench.send(0).isAccepted)
            // Our monotonic clock says 25 minutes, Apple's clock says more than an hour.
            elapsed.withLock { $0 = .seconds(25 * 60) }
            clock.advance(by: .seconds(3700))
            let outcomes = await bench.sendAll(1..<301)
            #expect(outcomes.notAccepted == [])
            #expect(bench.simulator.duplicateCount == 0)
            #expect(bench.simulator.connectionCount == 2)
            #expect(bench.telemetry.metrics.counter("apns_provider_tokens_total", help: "").current == 2)
        }
    }

    @Test func `a skewed clock stops the pool instead of minting`() async throws {
        let clock = FixedWallClock(SystemWallClock().now + .seconds(7200))
        let minute = Backoff(base: .seconds(60), limit: .seconds(60))
        try await PushBench.run(transport: { $0.pause = minute }, wallClock: clock) { bench in
            #expect(await bench.send(0) == .notSent(reason: "ExpiredProviderToken", after: nil))
            #expect(bench.telemetry.metrics.counter("apns_provider_tokens_total", help: "").current == 1)
            // The cause is named: it is not the token.
            #expect(bench.transport.health.problems["production"]?.contains("clock") == true)
        }
    }

    @Test func `a token is changed on a connection only after twenty minutes`() async throws {
        let elapsed = Mutex(Duration.zero)
        let start = ContinuousClock.now
        let clock = FixedWallClock(SystemWallClock().now)
        try await PushBench.run(
            simulator: { $0.clock = clock },
            wallClock: clock,
            now: { start + (ContinuousClock.now - start) + elapsed.withLock { $0 } }
        ) { bench in
            for minute in 0..<300 {
                #expect(await bench.send(minute).isAccepted)
                elapsed.withLock { $0 += .seconds(60) }
                clock.advance(by: .seconds(60))
                // The server ends the connection now and then, so that new ones begin at every age of the token.
                if minute % 17 == 16 {
                    bench.simulator.addFault(
                        FaultRule(.goAway(lastStreamID: nil, errorCode: 0, reason: nil), remaining: 1)
                    )
                }
            }
            #expect(bench.simulator.refusedCounts.isEmpty, "\(bench.simulator.refusedCounts)")
        }
    }

    @Test func `two connections are both used`() async throws {
        try await PushBench.run(transport: { $0.connections = 2 }) { bench in
            var waves = 0
            while bench.transport.health.connections < 2, waves < 1000 {
                waves += 1
                #expect(await bench.send(0).isAccepted)
            }
            bench.simulator.addFault(FaultRule(.accept, delay: .milliseconds(5)))
            let outcomes = await bench.sendAll(1..<401)
            #expect(outcomes.notAccepted == [])
            #expect(bench.simulator.connectionCount == 2)
            #expect(Set(bench.simulator.pushes().map(\.connectionID)).count == 2)
        }
    }

    @Test func `a slow answer holds nobody else back`() async throws {
        try await PushBench.run { bench in
            #expect(await bench.send(0).isAccepted)
            bench.simulator.addFault(FaultRule(.hang, token: PushBench.token(1)))
            let slow = Gathered(count: 1)
            bench.transport.send(PushBench.request(1)) { slow.put($0, at: 0) }
            #expect(await bench.sendAll(2..<502).notAccepted == [])
            #expect(bench.transport.health.inFlight == 1)
        }
    }

    @Test func `a stream limit that is raised late holds the rest back, on one connection`() async throws {
        try await PushBench.run(simulator: { $0.settingsDelay = .milliseconds(300) }) { bench in
            let outcomes = await bench.sendAll(0..<300)
            #expect(outcomes.notAccepted == [])
            #expect(bench.simulator.connectionCount == 1)
            #expect(bench.simulator.acceptedCount == 300)
            #expect(bench.simulator.duplicateCount == 0)
        }
    }

    @Test func `GOAWAY again and again loses nothing, doubles nothing and makes no tight loop`() async throws {
        try await PushBench.run(transport: { $0.streams = 50 }) { bench in
            bench.simulator.addFault(
                FaultRule(.goAway(lastStreamID: nil, errorCode: 0, reason: "Shutdown"), fraction: 0.005)
            )
            let outcomes = await bench.sendAll(0..<2000)
            #expect(outcomes.notAccepted == [])
            #expect(bench.simulator.acceptedCount == 2000)
            #expect(bench.simulator.duplicateCount == 0)
            #expect(bench.simulator.connectionCount <= 12)
        }
    }

    @Test(.timeLimit(.minutes(1)), arguments: [true, false])
    func `a connection that ends while idle is replaced without harm`(_ politely: Bool) async throws {
        try await PushBench.run { bench in
            #expect(await bench.warmUp())
            if politely {
                bench.simulator.endConnections(reason: "IdleTimeout")
            } else {
                bench.simulator.dropConnections()
            }
            while bench.transport.health.connections > 0 { await Task.yield() }
            #expect(await bench.send(1).isAccepted)
            #expect(bench.simulator.connectionCount == 2)
            #expect(bench.simulator.duplicateCount == 0)
        }
    }

    @Test func `small windows only slow pushes down`() async throws {
        try await PushBench.run(simulator: { $0.windowSize = 1000 }) { bench in
            #expect(await bench.warmUp())
            let body = #"{"aps":{"alert":"\#(String(repeating: "x", count: 4000))"}}"#
            let gathered = Gathered(count: 500)
            for number in 0..<500 {
                bench.transport.send(PushBench.request(number, payload: body)) { gathered.put($0, at: number) }
            }
            #expect(await gathered.all.notAccepted == [])
            #expect(bench.simulator.duplicateCount == 0)
        }
    }

    @Test func `sandbox and production stand side by side, each with its connection`() async throws {
        try await PushBench.run { bench in
            for environment in PushEnvironment.allCases {
                var request = PushBench.request(1)
                request.environment = environment
                #expect(await bench.transport.send(request).isAccepted)
            }
            #expect(bench.simulator.connectionCount == 2)
            #expect(bench.transport.health.connections == 2)
        }
    }

    @Test func `a queue that is full says so at once`() async throws {
        try await PushBench.run(transport: {
            $0.streams = 10
            $0.waitingLimit = 100
        }) { bench in
            #expect(await bench.warmUp())
            bench.simulator.addFault(FaultRule(.accept, delay: .milliseconds(100)))
            let outcomes = await bench.sendAll(0..<1000)
            #expect(outcomes.count { $0 == .notSent(reason: "QueueFull", after: .seconds(1)) } == 890)
            #expect(outcomes.acceptedCount == 110)
        }
    }

    @Test func `a stream limit that collapses after each refusal costs neither pushes nor connections`() async throws {
        try await PushBench.run(simulator: { $0.streamsAfterRefusal = 1 }) { bench in
            #expect(await bench.warmUp())
            let refusal = FaultRule.Action.refuse(status: 400, reason: "BadTopic", timestamp: nil, retryAfter: nil)
            bench.simulator.addFault(FaultRule(refusal, fraction: 0.02))
            let outcomes = await bench.sendAll(0..<1000)
            #expect(outcomes.count { $0 == .rejected(reason: "BadTopic", status: 400) } == 20)
            #expect(outcomes.acceptedCount == 980)
            #expect(bench.simulator.connectionCount == 1)
            #expect(bench.simulator.duplicateCount == 0)
        }
    }
}
