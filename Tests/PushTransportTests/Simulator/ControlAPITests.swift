import HTTPServer
import Kernel
import Observability
import Signing
import Testing

@testable import PushSimulator

struct ControlAPITests {
    private let apns: APNsHandler
    private let client: InProcessClient

    init() throws {
        let key = try SigningKey(pem: ECKey.generateP256().privatePEM, keyID: "KEY")
        let configuration = SimulatorConfiguration(
            identity: .init(certificatePEM: "", keyPEM: ""),
            credentials: [.init(key: key.verificationKey, teamID: "TEAM")]
        )
        apns = try APNsHandler(configuration: configuration, telemetry: .silent())
        client = InProcessClient(
            router: ControlAPI(apns: apns).router,
            options: RequestDeskOptions(problemTypePrefix: "urn:varsel:problem:"),
            telemetry: .silent()
        )
    }

    @Test func `it is alive`() async throws {
        #expect(await client.send(.get, "/healthz").status == 200)
    }

    @Test func `pushes are listed, counted and forgotten`() async throws {
        for number: UInt64 in 1...3 { record(number, token: number == 2 ? "bb" : "aa") }
        record(3, token: "aa")
        let all = try await json(.get, "/pushes?limit=2")
        #expect(all["accepted"] == 4)
        #expect(all["pushes"]?.arrayValue?.count == 2)
        let one = try await json(.get, "/pushes?token=bb")
        let push = try #require(one["pushes"]?.arrayValue?.first)
        #expect(push["token"] == "bb")
        #expect(push["apnsId"] == "00000000-0000-0000-0000-000000000002")
        #expect(push["payload"] == ["aps": ["alert": "hi"]])
        #expect(push["receivedAt"] == "2026-09-21T14:13:20.000Z")
        #expect(try await json(.get, "/pushes/count") == ["accepted": 4, "duplicates": 1])
        #expect(try await json(.get, "/stats")["duplicates"] == 1)
        #expect(await client.send(.delete, "/pushes").status == 204)
        #expect(try await json(.get, "/pushes/count") == ["accepted": 0, "duplicates": 0])
    }

    @Test func `the clock is set ahead and back, and connections are ended`() async throws {
        func put(_ body: String) async -> HTTPResponse {
            await client.send(.put, "/clock", headers: ["content-type": "application/json"], body: Array(body.utf8))
        }
        #expect(await put(#"{"skewSeconds":7200}"#).status == 200)
        #expect(apns.clock.skew == .seconds(7200))
        #expect(try await json(.get, "/stats")["clockSkewSeconds"] == 7200)
        #expect(await put(#"{"skewSeconds":"x"}"#).status == 422)
        #expect(await put(#"{}"#).status == 422)
        #expect(await client.send(.post, "/connections/goaway?reason=Shutdown").status == 204)
        #expect(await client.send(.post, "/connections/drop").status == 204)
    }

    @Test(arguments: ["0", "1001", "x"])
    func `a bad limit is refused`(_ limit: String) async throws {
        #expect(await client.send(.get, "/pushes?limit=\(limit)").status == 422)
    }

    @Test func `faults come and go`() async throws {
        let list = #"[{"status":500,"reason":"InternalServerError","count":1},{"action":"hang","token":"aa"}]"#
        #expect(await post(list).status == 201)
        #expect(try await json(.get, "/stats")["faults"] == 2)
        #expect(apns.faults.strike(token: "cc")?.action != nil)
        #expect(await client.send(.delete, "/faults").status == 204)
        #expect(apns.faults.count == 0)
    }

    @Test func `a list with one bad fault adds none`() async throws {
        let answer = await post(#"[{"action":"hang"},{"action":"explode"}]"#)
        #expect(answer.status == 422)
        #expect(String(decoding: answer.body, as: UTF8.self).contains("accept, refuse, hang"))
        #expect(apns.faults.count == 0)
    }

    private func post(_ body: String) async -> HTTPResponse {
        await client.send(.post, "/faults", headers: ["content-type": "application/json"], body: Array(body.utf8))
    }

    private func json(_ method: HTTPMethod, _ target: String) async throws -> JSONValue {
        try JSONValue(parsing: await client.send(method, target).body)
    }

    private func record(_ number: UInt64, token: String) {
        let valid = ValidPush(
            deviceToken: token,
            apnsID: UUIDBits(high: 0, low: number),
            topic: "t",
            pushType: "alert",
            priority: 10,
            expiration: nil,
            collapseID: nil
        )
        let push = RecordedPush(
            valid,
            body: Array(#"{"aps":{"alert":"hi"}}"#.utf8),
            connectionID: 1,
            receivedAt: Timestamp(milliseconds: 1_790_000_000_000)
        )
        apns.log.record(push, answered: true)
    }
}
