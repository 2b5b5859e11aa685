import Kernel
import Observability
import PushSimulator
import Testing

@testable import PushTransport

/// What the transport does when Apple complains of the account, the key or the token.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct TransportAccountTests {
    private let minute = Backoff(base: .seconds(60), limit: .seconds(60))

    private func mints(_ bench: PushBench) -> Int {
        bench.telemetry.metrics.counter("apns_provider_tokens_total", help: "").current
    }

    private func stops(_ bench: PushBench, _ reason: String) -> Int {
        bench.telemetry.metrics.counter("apns_stops_total", help: "", labels: [("reason", reason)]).current
    }

    @Test func `too many token updates mint nothing, replace the connection and count an alert`() async throws {
        try await PushBench.run { bench in
            #expect(await bench.warmUp())
            let updates = FaultRule.Action.refuse(
                status: 429,
                reason: "TooManyProviderTokenUpdates",
                timestamp: nil,
                retryAfter: nil
            )
            bench.simulator.addFault(FaultRule(updates, remaining: 1))
            #expect(await bench.send(1) == .notSent(reason: "TooManyProviderTokenUpdates", after: nil))
            #expect(stops(bench, "TooManyProviderTokenUpdates") == 1)
            #expect(bench.transport.health.problems["production"]?.contains("another process") == true)
            var outcome = await bench.send(1)
            while case .notSent(_, let after?) = outcome {
                try await Task.sleep(for: after)
                outcome = await bench.send(1)
            }
            #expect(outcome.isAccepted)
            #expect(bench.simulator.connectionCount == 2)
            #expect(mints(bench) == 1)
        }
    }

    @Test(arguments: ["UnrelatedKeyIdInToken", "IdleTimeout"])
    func `an answer that asks for another connection is followed once, and the push delivered once`(
        _ reason: String
    ) async throws {
        try await PushBench.run { bench in
            #expect(await bench.warmUp())
            let status = reason == "IdleTimeout" ? 400 : 403
            let refusal = FaultRule.Action.refuse(status: status, reason: reason, timestamp: nil, retryAfter: nil)
            bench.simulator.addFault(FaultRule(refusal, token: PushBench.token(1), remaining: 1))
            #expect(await bench.send(1).isAccepted)
            #expect(bench.simulator.connectionCount == 2)
            #expect(bench.simulator.duplicateCount == 0)
            #expect(mints(bench) == 1)
        }
    }

    @Test(arguments: ["BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken", "BadCertificate", "Forbidden"])
    func `a configuration at fault stops everything, keeps the tokens and tells what to look at`(
        _ reason: String
    ) async throws {
        try await PushBench.run(transport: { $0.pause = minute }) { bench in
            let refusal = FaultRule.Action.refuse(status: 403, reason: reason, timestamp: nil, retryAfter: nil)
            bench.simulator.addFault(FaultRule(refusal))
            for outcome in await bench.sendAll(0..<20) {
                guard case .notSent(reason, _) = outcome else {
                    Issue.record("\(outcome)")
                    continue
                }
            }
            #expect(bench.simulator.refusedCounts == [reason: 1])
            #expect(stops(bench, reason) == 1)
            #expect(bench.transport.health.problems["production"]?.hasPrefix(reason + ": ") == true)
            #expect(mints(bench) == 1)
        }
    }

    @Test func `a throttled device slows nobody else down`() async throws {
        try await PushBench.run { bench in
            #expect(await bench.warmUp())
            let refusal = FaultRule.Action.refuse(
                status: 429,
                reason: "TooManyRequests",
                timestamp: nil,
                retryAfter: nil
            )
            bench.simulator.addFault(FaultRule(refusal, token: PushBench.token(7)))
            let outcomes = await bench.sendAll(0..<200)
            #expect(outcomes[7] == .throttled(reason: "TooManyRequests", after: nil))
            #expect(outcomes.acceptedCount == 199)
            #expect(bench.transport.health.problems.isEmpty)
            #expect(bench.simulator.connectionCount == 1)
        }
    }

    @Test func `a clock that runs wrong heals when it is set right`() async throws {
        try await PushBench.run(simulator: { $0.clockSkew = .seconds(7200) }) { bench in
            #expect(await bench.send(1) == .notSent(reason: "ExpiredProviderToken", after: nil))
            bench.simulator.clockSkew = .zero
            var outcome = await bench.send(1)
            while case .notSent(_, let after?) = outcome {
                try await Task.sleep(for: after)
                outcome = await bench.send(1)
            }
            #expect(outcome.isAccepted)
            #expect(mints(bench) == 1)
        }
    }

    @Test func `every refusal is logged with a shortened token, and counted`() async throws {
        try await PushBench.run { bench in
            #expect(await bench.warmUp())
            let refusal = FaultRule.Action.refuse(
                status: 413,
                reason: "PayloadTooLarge",
                timestamp: nil,
                retryAfter: nil
            )
            bench.simulator.addFault(FaultRule(refusal, token: PushBench.token(3)))
            _ = await bench.send(3)
            let line = try #require(bench.log.lines.first { $0.contains("APNs refused a push") })
            let fields = try JSONValue(parsing: Array(line.utf8))
            #expect(fields["status"] == 413)
            #expect(fields["reason"] == "PayloadTooLarge")
            #expect(fields["apnsId"]?.stringValue == PushBench.request(3).messageID.description)
            #expect(fields["token"]?.stringValue == String(PushBench.token(3).prefix(8)) + "…")
            #expect(fields["time"] != nil)
            #expect(!bench.log.lines.contains { $0.contains(PushBench.token(3)) })
            #expect(bench.count(outcome: "rejected", reason: "PayloadTooLarge") == 1)
        }
    }

    @Test func `an invented reason is told, but never becomes a label`() async throws {
        try await PushBench.run { bench in
            #expect(await bench.warmUp())
            for number in 0..<20 {
                let refusal = FaultRule.Action.refuse(
                    status: 400,
                    reason: "Invented\(number)",
                    timestamp: nil,
                    retryAfter: nil
                )
                bench.simulator.addFault(FaultRule(refusal, token: PushBench.token(number)))
                #expect(await bench.send(number) == .rejected(reason: "Invented\(number)", status: 400))
            }
            #expect(bench.count(outcome: "rejected", reason: "other") == 20)
            #expect(!bench.telemetry.metrics.render().contains("Invented"))
        }
    }
}
