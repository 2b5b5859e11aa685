import Kernel
import Observability
import PushSimulator
import Signing
import Testing

@testable import PushTransport

/// What the transport makes of answers, against the simulator over a real connection.
@Suite(.serialized)
struct TransportAnswerTests {
    @Test func `a push arrives exactly as it was handed over`() async throws {
        try await PushBench.run { bench in
            var request = PushBench.request(1, token: "<" + PushBench.token(1).uppercased() + ">")
            request.priority = .considerate
            request.payload = Array(#"{"aps":{"alert":"Grüße 👋"}}"#.utf8)
            let outcome = await bench.transport.send(request)
            guard case .accepted(let apnsID, let uniqueID) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(apnsID == request.messageID.description)
            #expect(uniqueID != nil)
            let push = try #require(bench.simulator.pushes().first)
            #expect(push.deviceToken == PushBench.token(1))
            #expect(push.apnsID == request.messageID)
            #expect(push.collapseID == request.messageID.description)
            #expect(push.topic == PushBench.topic)
            #expect(push.pushType == "alert")
            #expect(push.priority == 5)
            #expect(push.expiration == 1_800_000_000)
            #expect(push.body == request.payload)
            #expect(bench.count(outcome: "accepted") == 1)
        }
    }

    @Test(arguments: [
        (PushType.voip, PushPriority.immediate, ".voip"), (.background, .considerate, ""),
        (.liveActivity, .considerate, ".push-type.liveactivity"),
    ])
    func `a push type brings its topic suffix, once`(
        _ type: PushType,
        _ priority: PushPriority,
        _ suffix: String
    ) async throws {
        try await PushBench.run { bench in
            for topic in [PushBench.topic, PushBench.topic + suffix] {
                var request = PushBench.request(1)
                request.pushType = type
                request.priority = priority
                request.topic = topic
                if type == .background { request.payload = Array(#"{"aps":{"content-available":1}}"#.utf8) }
                #expect(await bench.transport.send(request).isAccepted)
                #expect(bench.simulator.pushes().first?.topic == PushBench.topic + suffix)
            }
        }
    }

    @Test(arguments: [
        (400, "BadDeviceToken", PushOutcome.dead(reason: "BadDeviceToken", at: nil)),
        (410, "Unregistered", .dead(reason: "Unregistered", at: Timestamp(milliseconds: 1_790_000_000_123))),
        (410, "ExpiredToken", .dead(reason: "ExpiredToken", at: Timestamp(milliseconds: 1_790_000_000_123))),
        (413, "PayloadTooLarge", .rejected(reason: "PayloadTooLarge", status: 413)),
        (429, "TooManyRequests", .throttled(reason: "TooManyRequests", after: .seconds(7))),
        (500, "InternalServerError", .retry(reason: "InternalServerError", status: 500, after: .seconds(7))),
        (503, "ServiceUnavailable", .retry(reason: "ServiceUnavailable", status: 503, after: .seconds(7))),
        (400, "FooBar", .rejected(reason: "FooBar", status: 400)),
    ])
    func `an answer becomes its outcome and the next push is unharmed`(
        _ status: Int,
        _ reason: String,
        _ expected: PushOutcome
    ) async throws {
        try await PushBench.run { bench in
            #expect(await bench.send(0).isAccepted)
            let timestamp: Int64? = status == 410 ? 1_790_000_000_123 : nil
            bench.simulator.addFault(
                FaultRule(
                    .refuse(status: status, reason: reason, timestamp: timestamp, retryAfter: 7),
                    token: PushBench.token(1)
                )
            )
            let sent = await bench.sendAll(0..<20)
            #expect(sent[1] == expected)
            #expect(sent.acceptedCount == 19)
            #expect(bench.simulator.connectionCount == 1)
            #expect(bench.simulator.duplicateCount == 1)  // Push 0 was sent on purpose twice.
        }
    }

    @Test(
        arguments: [
            ("", "(null)", "MalformedDeviceToken"), ("x", nil, "PayloadTooLarge"), ("", nil, "PayloadEmpty"),
        ] as [(String, String?, String)]
    )
    func `what Apple would refuse never leaves`(_ body: String, _ token: String?, _ reason: String) async throws {
        try await PushBench.run { bench in
            var request = PushBench.request(1, token: token)
            request.payload = [UInt8](repeating: 0x78, count: body.isEmpty ? 0 : 4097)
            #expect(await bench.transport.send(request) == .rejected(reason: reason, status: nil))
            #expect(bench.simulator.connectionCount == 0)
            request = PushBench.request(2)
            request.payload = [UInt8](repeating: 0x78, count: 4096)
            #expect(await bench.transport.send(request).isAccepted)
        }
    }

    @Test func `a key that Apple does not know stops the pool and costs no token`() async throws {
        let stranger = try SigningKey(pem: ECKey.generateP256().privatePEM, keyID: PushBench.keyID)
        try await PushBench.run(
            transport: { $0.pause = Backoff(base: .seconds(60), limit: .seconds(60)) },
            signedBy: stranger
        ) {
            bench in
            let outcomes = await bench.sendAll(0..<100)
            for outcome in outcomes {
                guard case .notSent("InvalidProviderToken", _) = outcome else {
                    Issue.record("\(outcome)")
                    continue
                }
            }
            // Only the canary asked; nothing followed it.
            #expect(bench.simulator.refusedCounts == ["InvalidProviderToken": 1])
            #expect(bench.transport.health.problems["production"]?.hasPrefix("InvalidProviderToken: ") == true)
            #expect(bench.telemetry.health.problems.map(\.reason) == Array(bench.transport.health.problems.values))
            #expect(bench.log.lines.contains { $0.contains("APNs refuses our account or configuration") })
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `a pause ends by itself for readiness too, without another push`() async throws {
        try await PushBench.run { bench in
            bench.simulator.addFault(
                FaultRule(
                    .refuse(status: 403, reason: "InvalidProviderToken", timestamp: nil, retryAfter: nil),
                    remaining: 1
                )
            )
            _ = await bench.send(1)
            #expect(!bench.telemetry.health.isReady)
            while !bench.telemetry.health.isReady { try await Task.sleep(for: .milliseconds(5)) }
        }
    }

    @Test func `a stopped pool tries again after its pause`() async throws {
        try await PushBench.run { bench in
            bench.simulator.addFault(
                FaultRule(
                    .refuse(status: 403, reason: "InvalidProviderToken", timestamp: nil, retryAfter: nil),
                    remaining: 1
                )
            )
            #expect(await bench.send(1) == .notSent(reason: "InvalidProviderToken", after: nil))
            var outcome = await bench.send(2)
            while case .notSent(_, let after?) = outcome {
                try await Task.sleep(for: after)
                outcome = await bench.send(2)
            }
            #expect(outcome.isAccepted)
            #expect(bench.simulator.connectionCount == 2)
            #expect(bench.transport.health.problems.isEmpty)
        }
    }

    @Test func `a topic that is not ours stops that topic alone`() async throws {
        try await PushBench.run { bench in
            var request = PushBench.request(1)
            request.topic = "com.other"
            #expect(await bench.transport.send(request) == .notSent(reason: "TopicDisallowed", after: .seconds(300)))
            guard case .notSent("TopicDisallowed", _) = await bench.transport.send(request) else {
                Issue.record("the topic was asked again")
                return
            }
            #expect(bench.simulator.refusedCounts == ["TopicDisallowed": 1])
            #expect(await bench.send(2).isAccepted)
        }
    }

    @Test func `a key that may not send to a topic is tried on one more connection, then that topic alone stops (A1)`()
        async throws
    {
        try await PushBench.run(simulator: { $0.topics.insert(Self.secondTopic) }) { bench in
            bench.simulator.addFault(
                FaultRule(
                    .refuse(status: 403, reason: "UnrelatedKeyIdInToken", timestamp: nil, retryAfter: nil),
                    token: PushBench.token(1)
                )
            )
            var request = PushBench.request(1)
            request.topic = Self.secondTopic
            let refused = PushOutcome.notSent(reason: "UnrelatedKeyIdInToken", after: .seconds(300))
            #expect(await bench.transport.send(request) == refused)
            #expect(bench.simulator.refusedCounts == ["UnrelatedKeyIdInToken": 2])
            request = PushBench.request(3)
            request.topic = Self.secondTopic
            guard case .notSent("UnrelatedKeyIdInToken", _) = await bench.transport.send(request) else {
                Issue.record("the topic was asked again")
                return
            }
            #expect(await bench.send(2).isAccepted)
            #expect(bench.transport.health.problems.isEmpty)
        }
    }

    @Test func `many bad tokens of one topic say nothing of another's (E9)`() async throws {
        try await PushBench.run(simulator: { $0.topics.insert(Self.secondTopic) }) { bench in
            bench.simulator.addFault(
                FaultRule(.refuse(status: 400, reason: "BadDeviceToken", timestamp: nil, retryAfter: nil))
            )
            for number in 0..<60 {
                var request = PushBench.request(number)
                request.topic = Self.secondTopic
                _ = await bench.transport.send(request)
            }
            #expect(bench.transport.health.problems["production"]?.contains(Self.secondTopic) == true)
            #expect(await bench.send(100) == .dead(reason: "BadDeviceToken", at: nil))
        }
    }

    private static let secondTopic = "com.example.second"

    @Test func `many bad tokens at once are not believed`() async throws {
        try await PushBench.run { bench in
            bench.simulator.addFault(
                FaultRule(.refuse(status: 400, reason: "BadDeviceToken", timestamp: nil, retryAfter: nil))
            )
            var dead = 0
            var held = 0
            for number in 0..<200 {
                switch await bench.send(number) {
                case .dead: dead += 1
                case .notSent("BreakerBadDeviceToken", _): held += 1
                case let other: Issue.record("\(other)")
                }
            }
            #expect(dead == 49)
            #expect(held == 151)
            #expect(
                bench.transport.health.problems == [
                    "production":
                        "too many bad device tokens for \(PushBench.topic): check APNS_ENVIRONMENT and the topic"
                ]
            )
            #expect(bench.telemetry.metrics.counter("apns_breaker_opened_total", help: "").current == 1)
            bench.simulator.clearFaults()
            for number in 0..<200 { #expect(await bench.send(number).isAccepted) }
            #expect(bench.transport.health.problems.isEmpty)
        }
    }
}
