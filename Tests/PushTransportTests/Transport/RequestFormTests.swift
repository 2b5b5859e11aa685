import HTTP2
import Kernel
import Notifications
import Observability
import Signing
import Synchronization
import Testing

@testable import PushTransport

/// What leaves, seen by a plain HTTP/2 server that knows nothing of pushes.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct RequestFormTests {
    /// Remembers requests and answers them.
    private final class Recorder: HTTP2ServerHandler {
        let requests = Mutex<[HTTP2ServerRequest]>([])
        private let answer: @Sendable (HTTP2Responder) -> Void

        init(_ answer: @escaping @Sendable (HTTP2Responder) -> Void = { $0.respond(status: 200) }) {
            self.answer = answer
        }

        func handle(_ request: HTTP2ServerRequest, respond: HTTP2Responder) {
            requests.withLock { $0.append(request) }
            answer(respond)
        }

        var seen: [HTTP2ServerRequest] { requests.withLock { $0 } }
    }

    @Test func `an alert has Apple's headers and nothing more`() async throws {
        let recorder = Recorder()
        try await withTransport(recorder) { transport in
            var request = PushBench.request(1, token: "<" + PushBench.token(1).uppercased() + ">")
            request.payload = Array(#"{"aps":{"alert":"Grüße 👋"}}"#.utf8)
            _ = await transport.send(request)
            let seen = try #require(recorder.seen.first)
            #expect(seen.method == "POST")
            #expect(seen.path == "/3/device/" + PushBench.token(1))
            #expect(seen.body == request.payload)
            #expect(seen.header("authorization")?.hasPrefix("bearer ey") == true)
            let names = seen.headers.map(\.name).filter { $0 != "authorization" }
            #expect(
                names.sorted() == [
                    "apns-collapse-id", "apns-expiration", "apns-id", "apns-priority", "apns-push-type", "apns-topic",
                    "content-type",
                ]
            )
            #expect(seen.header("apns-topic") == PushBench.topic)
            #expect(seen.header("apns-push-type") == "alert")
            #expect(seen.header("apns-priority") == "10")
            #expect(seen.header("content-type") == "application/json")
            #expect(seen.header("apns-id") == request.messageID.description)
        }
    }

    @Test(arguments: [(1_800_000_000_500, "1800000000"), (0, "0"), (nil, nil)] as [(Int64?, String?)])
    func `the expiration is absolute, in seconds, or absent`(_ milliseconds: Int64?, _ header: String?) async throws {
        let recorder = Recorder()
        try await withTransport(recorder) { transport in
            var request = PushBench.request(1)
            request.expiration = milliseconds.map { Timestamp(milliseconds: $0) }
            _ = await transport.send(request)
            #expect(recorder.seen.first?.header("apns-expiration") == header)
        }
    }

    @Test func `a token of 160 digits is sent as it is`() async throws {
        let recorder = Recorder()
        try await withTransport(recorder) { transport in
            let token = String(repeating: "0f", count: 80)
            #expect(await transport.send(PushBench.request(1, token: token)).isAccepted)
            #expect(recorder.seen.first?.path == "/3/device/" + token)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `two connections and a thousand pushes share one provider token`() async throws {
        let recorder = Recorder()
        try await withTransport(recorder, connections: 2) { transport in
            // Which connection is ready first is chance, so both are waited for.
            while Set(recorder.seen.map(\.connectionID)).count < 2 {
                #expect(await transport.send(PushBench.request(2000)).isAccepted)
            }
            let gathered = Gathered(count: 1000)
            for number in 0..<1000 { transport.send(PushBench.request(number)) { gathered.put($0, at: number) } }
            #expect(await gathered.all.notAccepted == [])
            #expect(Set(recorder.seen.map(\.connectionID)).count == 2)
            let headers = Set(recorder.seen.compactMap { $0.header("authorization") })
            #expect(headers.count == 1)
            #expect(headers.first?.contains { "+/=".contains($0) } == false)
        }
    }

    @Test func `an answer over several DATA frames that is no JSON is judged by its status`() async throws {
        let recorder = Recorder { respond in
            respond.respond(status: 502, body: Array(("<html>" + String(repeating: "x", count: 40_000)).utf8))
        }
        try await withTransport(recorder) { transport in
            #expect(await transport.send(PushBench.request(1)) == .retry(reason: "Status502", status: 502, after: nil))
        }
    }

    private func withTransport(
        _ handler: Recorder,
        connections: Int = 1,
        _ body: (PushTransport) async throws -> Void
    ) async throws {
        let pair = try SelfSigned.make(hosts: ["127.0.0.1"], validFor: .seconds(3600), now: SystemWallClock().now)
        let server = try await HTTP2Server.start(
            host: "127.0.0.1",
            port: 0,
            tls: TLSServerConfiguration(certificatePEM: pair.certificatePEM, privateKeyPEM: pair.keyPEM),
            handler: handler,
            telemetry: .silent()
        )
        var configuration = try APNsConfiguration(
            key: SigningKey(pem: ECKey.generateP256().privatePEM, keyID: PushBench.keyID),
            teamID: PushBench.teamID,
            host: "127.0.0.1",
            port: server.port,
            trustedPEM: pair.certificatePEM
        )
        configuration.connections = connections
        let transport = PushTransport(configuration: configuration, telemetry: .silent())
        let result: Result<Void, any Error>
        do { result = .success(try await body(transport)) } catch { result = .failure(error) }
        await transport.close()
        await server.stop()
        try result.get()
    }
}
