import Foundation
import GatewayAPI
import HTTPServer
import Kernel
import Observability
import Testing

/// Mutated requests: whatever comes, the gateway neither ends nor hangs nor answers 500 (G11).
///
/// The seed is fixed, so that a failure comes again. `VARSEL_FUZZ` sets how many requests are tried in the process, and a fiftieth of
/// them over sockets; `VARSEL_FUZZ_SEED` another seed.
@Suite(.serialized) struct FuzzTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let count = environment["VARSEL_FUZZ"].flatMap { Int($0) } ?? 20_000
    private static let seed = environment["VARSEL_FUZZ_SEED"].flatMap { UInt64($0) } ?? 20_261_202

    @Test func `mutated paths, headers, tokens and bodies never end in 500 (G7, G11)`() async throws {
        let fixture = try GatewayFixture(registrations: 1_000_000_000)
        let seeds = try requests(fixture)
        var mutator = Mutator(seed: Self.seed)
        var statuses: [Int: Int] = [:]
        for number in 0..<Self.count {
            let request = mutator.mutated(seeds[number % seeds.count])
            guard let method = HTTPMethod(rawValue: request.method) else { continue }
            let headers = HTTPHeaders(request.headers.map { ($0.0, String(decoding: $0.1, as: UTF8.self)) })
            let target = String(decoding: request.target, as: UTF8.self)
            let answer = await fixture.client.send(method, target, headers: headers, body: request.body)
            statuses[answer.status, default: 0] += 1
            if answer.status == 500 || answer.status >= 504 {
                Issue.record(
                    "\(number): \(answer.status) for \(method.rawValue) \(target) \(String(decoding: request.body.prefix(300), as: UTF8.self))"
                )
                break
            }
            // Ever more remembered requests would only slow the test down.
            if number % 1000 == 0 { fixture.memory.forget() }
        }
        // Something got through, and much was refused.
        #expect(statuses[200, default: 0] + statuses[202, default: 0] > 0, "\(statuses)")
        #expect(statuses[401, default: 0] > 0 && statuses[422, default: 0] > 0, "\(statuses)")
    }

    @Test(.timeLimit(.minutes(60)))
    func `mutated bytes on a socket never hang or end the server (G11)`() async throws {
        let fixture = try GatewayFixture(registrations: 1_000_000_000)
        let server = try HTTPServer.start(
            options: HTTPServerOptions(listen: "127.0.0.1:0", receiveTimeout: .seconds(1), idleTimeout: .seconds(1)),
            desk: RequestDeskOptions(problemTypePrefix: "urn:varsel:problem:"),
            router: fixture.gateway.router,
            telemetry: .silent()
        )
        let seeds = try requests(fixture)
        var mutator = Mutator(seed: Self.seed)
        let thread = SerialThread(name: "fuzz")
        for number in 0..<max(2000, Self.count / 50) {
            let whole = mutator.mutated(seeds[number % seeds.count]).bytes
            // Half of them are broken as bytes too, in their framing.
            let bytes = number % 2 == 0 ? whole : mutator.mutated(whole)
            let port = server.port
            let answer = try await thread.run { SocketExchange.run(port: port, sending: bytes) }
            guard let answer else {
                Issue.record(
                    "\(number): no end within ten seconds after \(String(decoding: bytes.prefix(400), as: UTF8.self))"
                )
                break
            }
            if answer.firstRange(of: "HTTP/1.1 500") != nil {
                Issue.record("\(number): 500 after \(String(decoding: bytes.prefix(400), as: UTF8.self))")
                break
            }
            if number % 1000 == 0 { fixture.memory.forget() }
        }
        let last = try await thread.run { [port = server.port] in
            SocketExchange.run(
                port: port,
                sending: Array("GET /api/v2/notifications HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".utf8)
            )
        }
        #expect(last?.hasPrefix("HTTP/1.1 401") == true)
        thread.stop()
        await server.stop(deadline: .zero)
    }

    /// One good request for each route.
    private func requests(_ fixture: GatewayFixture) throws -> [FuzzRequest] {
        let user = try fixture.userToken("u1", lifetime: .seconds(3600))
        let id = "01900000-0000-7000-8000-000000000001"
        let bodies: [String: String] = [
            "/api/v1/notifications/device-token":
                #"{"token":"00ff","platform":"ios","deviceId":"phone","timezone":"Europe/Oslo","permissionStatus":"granted"}"#,
            "/api/v1/notifications/{id}/read": #"{"isRead":true}"#,
            "/api/v1/notifications/preferences": #"{"categories":{"campaign":true},"language":"nb","timezone":"UTC"}"#,
            "/api/v1/notifications/silence": #"{"until":"2026-12-24T18:00:00+01:00"}"#,
            "/api/v1/notifications":
                #"{"userId":"u1","category":"reminder","body":"Hello","scheduledFor":"2026-12-05T10:00:00Z","metadata":{"a":[1,2.5e3,null]},"deeplinkUrl":"im://home"}"#,
            "/api/v1/notifications/bulk": #"{"notifications":[{"userId":"u1","category":"lifecycle","body":"Æ"}]}"#,
        ]
        return fixture.gateway.endpoints.map { endpoint in
            let path = endpoint.path.replacing("{id}", with: id).replacing("{messageId}", with: id)
                .replacing("{token}", with: "00ff").replacing("{streamId}", with: "s1").replacing(
                    "{deviceId}",
                    with: "phone"
                )
                .replacing("{environment}", with: "sandbox")
            var headers: [(String, [UInt8])] = [("Host", Array("x".utf8))]
            switch endpoint.access {
            case .user, .optionalUser: headers.append(("Authorization", Array("Bearer \(user)".utf8)))
            case .service, .userOrService:
                headers.append(("Authorization", Array("Bearer \(GatewayFixture.serviceToken("all"))".utf8)))
            case .developer: headers.append(("X-Dev-Token", Array(GatewayFixture.developerToken.utf8)))
            }
            var body: [UInt8] = []
            if ![.get, .head, .delete].contains(endpoint.method) {
                headers.append(("Content-Type", Array("application/json".utf8)))
                headers.append(("Idempotency-Key", Array("key-1".utf8)))
                body = Array((bodies[endpoint.path] ?? #"{"userId":"u1","category":"reminder","body":"x"}"#).utf8)
            }
            let query = endpoint.method == .get ? "?page=1&limit=20&userId=u1" : ""
            return FuzzRequest(
                method: endpoint.method.rawValue,
                target: Array((path + query).utf8),
                headers: headers,
                body: body
            )
        }
    }
}
