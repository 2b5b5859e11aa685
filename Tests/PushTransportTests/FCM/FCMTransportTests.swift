import Kernel
import Observability
import PushSimulator
import Testing

@testable import PushTransport

/// Sending through FCM against the simulator, over real connections.
@Suite(.serialized)
struct FCMTransportTests {
    @Test func `a push arrives at FCM as Android and iOS need it (A6)`() async throws {
        try await FCMBench.run { bench in
            let payload = """
                {"aps":{"alert":{"title":"Grüße","body":"👋"},"category":"reminder","sound":"default","thread-id":"reminder"},\
                "source":"notification","deeplinkUrl":"im://x","entityId":"e1"}
                """
            let outcome = await bench.send(1, payload: payload)
            #expect(outcome == .accepted(apnsID: "projects/demo-project/messages/1", uniqueID: nil))
            let push = try #require(bench.simulator.pushes(token: FCMBench.token(1)).first)
            let id = FCMBench.request(1).messageID.description
            #expect(push.pushType == "fcm" && push.collapseID == id && push.priority == 10)
            let message = try #require(try JSONValue(parsing: push.body)["message"])
            #expect(message["notification"] == ["title": "Grüße", "body": "👋"])
            #expect(
                message["data"] == [
                    "source": "notification", "deeplinkUrl": "im://x", "entityId": "e1", "category": "reminder",
                    "messageId": .string(id),
                ]
            )
            #expect(
                message["android"]?["notification"] == [
                    "tag": .string(id), "channel_id": "reminder", "sound": "default",
                ]
            )
            #expect(message["android"]?["collapse_key"] == nil)
            #expect(message["android"]?["priority"] == "HIGH")
            let life = try #require(message["android"]?["ttl"]?.stringValue.flatMap { Int($0.dropLast()) })
            #expect((3590...3600).contains(life))
            #expect(
                message["apns"]?["payload"]?["aps"] == [
                    "category": "reminder", "sound": "default", "thread-id": "reminder",
                ]
            )
            #expect(message["apns"]?["headers"]?["apns-collapse-id"]?.stringValue == id)
            #expect(message["apns"]?["headers"]?["apns-push-type"] == "alert")
        }
    }

    @Test(arguments: [
        (400, "INVALID_ARGUMENT", PushOutcome.dead(reason: "INVALID_ARGUMENT", at: nil)),
        (400, "FIELD_VIOLATION", .rejected(reason: "INVALID_ARGUMENT", status: 400)),
        (401, "THIRD_PARTY_AUTH_ERROR", .rejected(reason: "THIRD_PARTY_AUTH_ERROR", status: 401)),
        (403, "SENDER_ID_MISMATCH", .dead(reason: "SENDER_ID_MISMATCH", at: nil)),
        (403, "PERMISSION_DENIED", .notSent(reason: "PERMISSION_DENIED", after: nil)),
        (404, "UNREGISTERED", .dead(reason: "UNREGISTERED", at: nil)),
        (404, "NOT_FOUND", .notSent(reason: "NOT_FOUND", after: nil)),
        (429, "QUOTA_EXCEEDED", .throttled(reason: "QUOTA_EXCEEDED", after: .seconds(30))),
        (500, "INTERNAL", .retry(reason: "INTERNAL", status: 500, after: .seconds(30))),
        (503, "UNAVAILABLE", .retry(reason: "UNAVAILABLE", status: 503, after: .seconds(30))),
        (500, "UNSPECIFIED_ERROR", .retry(reason: "UNSPECIFIED_ERROR", status: 500, after: .seconds(30))),
        (418, "TEAPOT", .rejected(reason: "TEAPOT", status: 418)),
    ])
    func `an answer of FCM becomes its outcome, asked once (A6)`(
        _ status: Int,
        _ reason: String,
        _ expected: PushOutcome
    ) async throws {
        try await FCMBench.run { bench in
            let token = FCMBench.token(1)
            bench.simulator.addFCMFault(FaultRule(FCMBench.refusal(status, reason, retryAfter: 30), token: token))
            let outcome = await bench.send(1)
            #expect(outcome == expected)
            #expect(bench.simulator.acceptedCount == 0)
            #expect(bench.simulator.refusedCounts == [reason: 1])
            // What stops everything is told to operators; the rest harms nobody else.
            let stops = status == 403 && reason == "PERMISSION_DENIED" || reason == "NOT_FOUND"
            #expect((bench.transport.health.problems["fcm"] != nil) == (stops || status == 429))
            #expect(bench.telemetry.health.isReady == !(stops || status == 429))
            let isLoud = stops || reason == "THIRD_PARTY_AUTH_ERROR"
            #expect(bench.log.lines.contains { $0.contains("refuses our account") } == isLoud)
            let next = await bench.send(2)
            #expect(next.isAccepted == !(stops || status == 429))
        }
    }

    @Test func `without a wish of Google's a failed push waits 10 s, an exceeded quota a minute`() async throws {
        try await FCMBench.run { bench in
            bench.simulator.addFCMFault(FaultRule(FCMBench.refusal(503, "UNAVAILABLE"), token: FCMBench.token(1)))
            bench.simulator.addFCMFault(FaultRule(FCMBench.refusal(429, "QUOTA_EXCEEDED"), token: FCMBench.token(2)))
            guard case .retry(_, _, let pause?) = await bench.send(1) else { throw Unexpected() }
            #expect(pause >= .seconds(10))
            guard case .throttled(_, let wait?) = await bench.send(2) else { throw Unexpected() }
            #expect(wait >= .seconds(60))
        }
    }

    @Test func `an exceeded quota holds the whole project back, and nothing is dropped`() async throws {
        try await FCMBench.run { bench in
            let refusal = FCMBench.refusal(429, "QUOTA_EXCEEDED", retryAfter: 7)
            bench.simulator.addFCMFault(FaultRule(refusal, remaining: 1))
            let first = await bench.send(1)
            #expect(first == .throttled(reason: "QUOTA_EXCEEDED", after: .seconds(7)))
            guard case .notSent("QUOTA_EXCEEDED", let rest?) = await bench.send(2) else { throw Unexpected() }
            #expect(rest > .seconds(6) && rest <= .seconds(7))
            bench.clock.advance(by: .seconds(8))
            let later = await bench.send(2)
            #expect(later.isAccepted)
            #expect(bench.simulator.fcmConnectionCount == 1)
        }
    }

    @Test func `a device's own quota slows that device alone`() async throws {
        try await FCMBench.run { bench in
            let refusal = FCMBench.refusal(429, "DEVICE_QUOTA_EXCEEDED", retryAfter: 7)
            bench.simulator.addFCMFault(FaultRule(refusal, token: FCMBench.token(1)))
            let first = await bench.send(1)
            #expect(first == .throttled(reason: "QUOTA_EXCEEDED", after: .seconds(7)))
            let other = await bench.send(2)
            #expect(other.isAccepted)
        }
    }

    @Test func `100 pushes at once ask for one access token`() async throws {
        try await FCMBench.run(transport: { $0.connections = 4 }) { bench in
            let outcomes = await bench.sendAll(0..<100)
            #expect(outcomes.notAccepted == [])
            #expect(bench.simulator.accessTokenCount == 1)
        }
    }

    @Test func `a revoked access token is renewed once and each push delivered once`() async throws {
        try await FCMBench.run { bench in
            let first = await bench.send(0)
            #expect(first.isAccepted)
            bench.simulator.revokeAccessTokens()
            bench.clock.advance(by: AccessTokenSource.minimumAge)
            let outcomes = await bench.sendAll(1..<51)
            #expect(outcomes.notAccepted == [])
            #expect(bench.simulator.accessTokenCount == 2)
            #expect(bench.simulator.acceptedCount == 51 && bench.simulator.duplicateCount == 0)
        }
    }

    @Test func `an access token that has ended unnoticed costs a connection and no push`() async throws {
        try await FCMBench.run { bench in
            let first = await bench.send(0)
            #expect(first.isAccepted)
            bench.clock.advance(by: .seconds(7200))
            let outcomes = await bench.sendAll(1..<51)
            #expect(outcomes.notAccepted == [])
            #expect(bench.simulator.accessTokenCount == 2 && bench.simulator.fcmConnectionCount == 2)
            #expect(bench.simulator.acceptedCount == 51 && bench.simulator.duplicateCount == 0)
        }
    }

    @Test func `a fresh access token that is refused stops FCM and asks for no other`() async throws {
        try await FCMBench.run { bench in
            bench.simulator.addFCMFault(FaultRule(FCMBench.refusal(401, "UNAUTHENTICATED")))
            let outcome = await bench.send(1)
            #expect(outcome == .notSent(reason: "UNAUTHENTICATED", after: nil))
            #expect(bench.simulator.accessTokenCount == 1)
            #expect(bench.transport.health.problems == ["fcm": "UNAUTHENTICATED"])
        }
    }

    @Test func `an account that Google refuses stops FCM, says so, and Apple goes on`() async throws {
        try await FCMBench.run(transport: { $0.pause = Backoff(base: .seconds(60), limit: .seconds(60)) }) { bench in
            bench.simulator.addTokenFault(FaultRule(FCMBench.refusal(400, "invalid_grant")))
            guard case .notSent("NoAccessToken", _) = await bench.send(1) else { throw Unexpected() }
            guard case .notSent("NoAccessToken", _) = await bench.send(2) else { throw Unexpected() }
            #expect(bench.tokens("refused") == 1)
            #expect(bench.telemetry.health.problems.map(\.reason) == ["NoAccessToken"])
            #expect(bench.log.lines.contains { $0.contains("invalid_grant") })
            #expect(bench.simulator.fcmConnectionCount == 0)
            let apple = await bench.transport.send(PushBench.request(1))
            #expect(apple.isAccepted)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `a token endpoint that fails for a while is asked again`() async throws {
        try await FCMBench.run { bench in
            bench.simulator.addTokenFault(FaultRule(FCMBench.refusal(503, "temporarily_unavailable"), remaining: 2))
            var outcome = await bench.send(1)
            while case .notSent("NoAccessToken", let after?) = outcome {
                try await Task.sleep(for: after)
                outcome = await bench.send(1)
            }
            #expect(outcome.isAccepted)
            #expect(bench.tokens("unavailable") == 2 && bench.tokens("issued") == 1)
        }
    }

    @Test func `no connection to FCM has more than 100 streams, and volume stalls nothing`() async throws {
        try await FCMBench.run(simulator: { $0.promisedStreams = 1000 }, transport: { $0.connections = 2 }) { bench in
            bench.simulator.addFCMFault(FaultRule(.accept, remaining: 400, delay: .milliseconds(200)))
            let long = String(repeating: "x", count: 3900)
            let payload = "{\"aps\":{\"alert\":{\"title\":\"T\",\"body\":\"\(long)\"}}}"
            // Short ones first: long ones fill the connection's window before they fill its streams.
            var outcomes = await bench.sendAll(3000..<3400)
            for start in stride(from: 0, to: 3000, by: 600) {
                outcomes += await bench.sendAll(start..<start + 600, payload: payload)
            }
            #expect(outcomes.notAccepted == [])
            #expect(bench.simulator.fcmPeakStreams <= 100)
            #expect(bench.simulator.fcmPeakStreams > 50)
            #expect(bench.simulator.fcmConnectionCount <= 2)
            #expect(bench.simulator.acceptedCount == 3400 && bench.simulator.duplicateCount == 0)
        }
    }

    @Test(arguments: ["session_timed_out", "exceeded_max_concurrent_streams"])
    func `a GOAWAY of FCM loses nothing and doubles nothing`(_ reason: String) async throws {
        try await FCMBench.run { bench in
            bench.simulator.addFCMFault(
                FaultRule(
                    .goAway(lastStreamID: nil, errorCode: 0, reason: reason),
                    token: FCMBench.token(150),
                    remaining: 1
                )
            )
            bench.simulator.addFCMFault(FaultRule(.accept, fraction: 0.5, delay: .milliseconds(20)))
            let outcomes = await bench.sendAll(0..<300)
            #expect(outcomes.notAccepted == [])
            #expect(bench.simulator.acceptedCount == 300 && bench.simulator.duplicateCount == 0)
            #expect(bench.simulator.fcmConnectionCount == 2)
        }
    }

    @Test func `refused streams are sent again in place, what may have arrived is not`() async throws {
        try await FCMBench.run { bench in
            let first = await bench.send(0)
            #expect(first.isAccepted)
            bench.simulator.addFCMFault(FaultRule(.reset(errorCode: 7), token: FCMBench.token(1), remaining: 1))
            let refused = await bench.send(1)
            #expect(refused.isAccepted)
            bench.simulator.addFCMFault(FaultRule(.drop, token: FCMBench.token(2), remaining: 1))
            let dropped = await bench.send(2)
            #expect(dropped.isUnknown)
            #expect(bench.simulator.acceptedCount == 3 && bench.simulator.duplicateCount == 0)
            let next = await bench.send(3)
            #expect(next.isAccepted)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `an FCM that cannot be reached gives pushes back at once`() async throws {
        try await FCMBench.run(transport: { settings in
            settings.port = 1
            settings.reconnect = Backoff(base: .seconds(600), limit: .seconds(600))
        }) { bench in
            guard case .notSent("connect_failed", let after?) = await bench.send(1) else { throw Unexpected() }
            #expect(after >= .seconds(300))
            let outcomes = await bench.sendAll(2..<500)
            for outcome in outcomes {
                guard case .notSent("connect_failed", _) = outcome else { throw Unexpected() }
            }
            #expect(bench.transport.health.problems == ["fcm": "connect_failed"])
            #expect(!bench.telemetry.health.isReady)
        }
    }

    @Test func `many tokens of another project are not believed`() async throws {
        try await FCMBench.run { bench in
            bench.simulator.addFCMFault(FaultRule(FCMBench.refusal(403, "SENDER_ID_MISMATCH")))
            var dead = 0
            for number in 0..<100 {
                if case .dead = await bench.send(number) { dead += 1 }
            }
            #expect(dead == 49)
            #expect(bench.transport.health.problems == ["fcm": "too many bad registration tokens"])
        }
    }

    @Test(arguments: [(600_000, 4, 2500), (240, 4, 1), (100, 4, 1), (90, 1, 1), (nil, 4, nil)] as [(Int?, Int, Int?)])
    func `a share of the quota is spread over the connections, to the second (A6)`(
        perMinute: Int?,
        connections: Int,
        pace: Int?
    ) async throws {
        try await FCMBench.run(transport: { settings in
            (settings.messagesPerMinute, settings.connections) = (perMinute, connections)
            #expect(settings.pace == pace)
        }) { bench in
            let outcomes = await bench.sendAll(0..<connections)
            #expect(outcomes.acceptedCount == connections)
        }
    }

    @Test func `a project's quota of a minute is enforced by the simulator`() async throws {
        try await FCMBench.run(simulator: { $0.messagesPerMinute = 10 }) { bench in
            var outcomes: [PushOutcome] = []
            for number in 0..<11 { outcomes.append(await bench.send(number)) }
            #expect(outcomes.acceptedCount == 10)
            #expect(outcomes.last == .throttled(reason: "QUOTA_EXCEEDED", after: .seconds(5)))
        }
    }

    @Test func `a stop gives waiting pushes back and waits for the rest`() async throws {
        try await FCMBench.run { bench in
            let first = await bench.send(0)
            #expect(first.isAccepted)
            await bench.transport.drain(deadline: .seconds(5))
            let late = await bench.send(1)
            #expect(late == .notSent(reason: "Closing", after: nil))
        }
    }
}

private struct Unexpected: Error {}
