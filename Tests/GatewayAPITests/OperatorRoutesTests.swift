import DeliveryEngine
import GatewayAPI
import HTTPServer
import Kernel
import NotificationContract
import Notifications
import Observability
import Producers
import Synchronization
import Testing

@Suite struct OperatorRoutesTests {
    private func device(_ id: Int64, _ fixture: GatewayFixture) -> RecipientDevice {
        RecipientDevice(
            id: id,
            provider: .apns,
            token: "t\(id)",
            environment: .sandbox,
            topic: "x",
            registeredAt: fixture.clock.now
        )
    }

    @Test func `a message is explained by its row and events`() async throws {
        let fixture = try GatewayFixture()
        let id = MessageID(at: fixture.clock.now, entropy: [1])
        let event = DeliveryEvent(
            kind: .suppressed,
            messageID: id,
            userID: "u1",
            category: "reminder",
            jobID: "j",
            attemptsStarted: 1,
            attempt: 0,
            at: fixture.clock.now,
            gate: "silence",
            reason: "silence"
        )
        fixture.memory.state.withLock {
            $0.stories = [MessageStory(messageID: id, userID: "u1", category: "reminder", row: nil, events: [event])]
        }
        let path = "/api/v1/notifications/explain"
        let one = try await fixture.service(.get, path + "?messageId=\(id)", as: "reader")
        #expect(one.status == 200)
        #expect(one.data["events"]?.arrayValue?.first?["gate"] == "silence")
        let all = try await fixture.service(.get, path + "?userId=u1", as: "reader")
        #expect(all.data["messages"]?.arrayValue?.count == 1)
        #expect(try await fixture.service(.get, path + "?userId=u2").data["messages"] == [])
        let unknown = MessageID(at: fixture.clock.now, entropy: [2])
        #expect(try await fixture.service(.get, path + "?messageId=\(unknown)").status == 404)
        for query in ["", "?messageId=x", "?userId=a%20b", "?userId=u1&messageId=\(id)"] {
            #expect(try await fixture.service(.get, path + query).status == 422, "\(query)")
        }
    }

    @Test func `ping goes straight to every device and tells each answer`() async throws {
        let fixture = try GatewayFixture()
        #expect(try await fixture.developer("ping").status == 409)
        let devices = [device(1, fixture), device(2, fixture)]
        fixture.memory.state.withLock { $0.recipient.devices = devices }
        let answer = try await fixture.developer("ping")
        #expect(answer.status == 200)
        #expect(answer.data["devices"]?.arrayValue?.map { $0["result"] } == ["accepted", "dead"])
        #expect(answer.data["devices"]?.arrayValue?[1]["reason"] == "Unregistered")
        let push = try #require(fixture.memory.state.withLock { $0.pushes.first })
        #expect(String(decoding: push.payload, as: UTF8.self).contains(#""source":"notification""#))
        #expect(fixture.memory.orders.isEmpty)
    }

    @Test func `consent is diagnosed gate by gate without side effects`() async throws {
        let fixture = try GatewayFixture()
        func blocked(_ category: String) async throws -> JSONValue? {
            let answer = try await fixture.developer("test-consent")
            return answer.data["categories"]?[category]?["blockedBy"]
        }
        #expect(try await blocked("reminder") == "permission")
        let device = device(1, fixture)
        fixture.memory.state.withLock {
            $0.recipient.isPermissionGranted = true
            $0.recipient.devices = [device]
            $0.recipient.localMinute = 12 * 60
        }
        #expect(try await blocked("reminder") == .null)
        #expect(try await blocked("campaign") == "category_off")
        fixture.memory.state.withLock { $0.usage = CapUsage(categories: [.reminder: 1], global: 4) }
        #expect(try await blocked("reminder") == "cap_category")
        #expect(try await blocked("lifecycle") == .null)
        fixture.memory.state.withLock { $0.recipient.localMinute = 60 }
        #expect(try await blocked("reminder") == "outside_window")
        fixture.memory.state.withLock { $0.recipient.silenceUntil = fixture.clock.now + .seconds(60) }
        #expect(try await blocked("lifecycle") == "silence")
        #expect(try await fixture.developer("test-consent", ["userId": "u1", "category": "mirror"]).status == 422)
        #expect(fixture.memory.orders.isEmpty)
    }

    @Test func `trigger goes through the bus, generates, or both`() async throws {
        let fixture = try GatewayFixture()
        func body(_ mode: String?) -> JSONValue {
            ["userId": "u1", "category": "lifecycle", "body": "Test", "mode": .optional(mode)]
        }
        #expect(try await fixture.developer("trigger-v2", body(nil)).status == 202)
        #expect(fixture.memory.orders.count == 1)
        let generated = try await fixture.developer("trigger-v2", body("generate"))
        #expect(generated.status == 200)
        #expect(generated.data["generated"]?["body"] == "Test")
        #expect(fixture.memory.orders.count == 1)
        let both = try await fixture.developer("trigger-v2", body("both"))
        #expect(both.data["generated"] != nil)
        #expect(both.data["messageId"] != nil)
        #expect(fixture.memory.orders.count == 2)
        #expect(try await fixture.developer("trigger-v2", body("x")).status == 422)
        #expect(try await fixture.developer("trigger-v2", ["category": "lifecycle", "body": "x"]).status == 422)
    }

    @Test func `without words of one's own the producer's are generated, sent, or both (G8)`() async throws {
        let fixture = try GatewayFixture()
        func trigger(_ mode: String, _ category: String = "reminder") async throws -> GatewayFixture.Answer {
            let body: JSONValue = ["userId": "u1", "category": .string(category), "mode": .string(mode)]
            return try await fixture.developer("trigger-v2", body)
        }
        let silent = try await trigger("both")
        #expect(silent.status == 200)
        #expect(silent.data == ["mode": "both", "generated": nil, "silent": "no_activity"])
        #expect(fixture.memory.orders.isEmpty)
        fixture.memory.state.withLock { $0.voice = .says(key: "reminder.step2", variables: [:]) }
        let generated = try await trigger("generate")
        #expect(generated.data["generated"]?["body"] == "Test App is here when you need it.")
        #expect(fixture.memory.orders.isEmpty)
        #expect(try await trigger("both").status == 202)
        #expect(try await trigger("deliver").status == 202)
        let texts = fixture.memory.orders.map(\.job.text)
        #expect(texts == Array(repeating: .catalog(key: "reminder.step2", variables: [:]), count: 2))
        #expect(try await trigger("generate", "campaign").status == 422, "a category without a voice needs words")
        fixture.memory.state.withLock { state in
            state.voice = .saysAsWritten(title: "News", body: "Look", deeplinkURL: "im://news")
        }
        #expect(try await trigger("generate").data["generated"] == ["title": "News", "body": "Look"])
        #expect(try await trigger("both").status == 202)
        let job = try #require(fixture.memory.orders.last?.job)
        #expect(job.text == .literal(body: "Look") && job.title == "News" && job.deeplinkURL == "im://news")
    }

    @Test func `reset clears one user`() async throws {
        let fixture = try GatewayFixture()
        let answer = try await fixture.developer("reset")
        #expect(answer.status == 200)
        #expect(fixture.memory.state.withLock { $0.cleared.map(\.rawValue) } == ["u1"])
    }

    @Test func `beside a bearer the body's user does not count`() async throws {
        let fixture = try GatewayFixture()
        _ = try await fixture.send(
            .post,
            "/api/v1/notifications/dev/reset",
            ["userId": "other"],
            bearer: fixture.userToken("u1"),
            headers: ["X-Dev-Token": GatewayFixture.developerToken]
        )
        #expect(fixture.memory.state.withLock { $0.cleared.map(\.rawValue) } == ["u1"])
    }

    @Test func `the table describes every route once`() throws {
        let endpoints = try GatewayFixture().gateway.endpoints
        #expect(endpoints.count >= 20)
        #expect(Set(endpoints.map { "\($0.method) \($0.path)" }).count == endpoints.count)
        #expect(endpoints.allSatisfy { !$0.summary.isEmpty && !$0.summary.hasSuffix(".") })
    }
}
