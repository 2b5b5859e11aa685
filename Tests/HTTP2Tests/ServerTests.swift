import HTTP2
import Kernel
import Observability
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ServerTests {
    @Test func `a body above the limit is answered with 413 before its end, and the connection goes on`() async throws {
        let requests = Collector<HTTP2ServerRequest>()
        var options = HTTP2ServerOptions()
        options.maxRequestBody = 1_000
        let bed = try await TestBed(options: options) { request, responder in
            requests.append(request)
            responder.respond(status: 200)
        }
        let client = try await bed.connect()
        let large = [UInt8](repeating: 1, count: 500_000)
        #expect(try await client.send(.push(body: large), timeout: .seconds(5)).status == 413)
        let fits = [UInt8](repeating: 1, count: 1_000)
        #expect(try await client.send(.push(body: fits), timeout: .seconds(5)).status == 200)
        #expect(requests.elements.count == 1)
        await client.close(drain: .seconds(5))
    }

    @Test func `headers above the limit are answered with 431`() async throws {
        let requests = Collector<HTTP2ServerRequest>()
        var options = HTTP2ServerOptions()
        options.maxRequestHeaders = 1_000
        let bed = try await TestBed(options: options) { request, responder in
            requests.append(request)
            responder.respond(status: 200)
        }
        let client = try await bed.connect()
        var request = HTTP2Request.push()
        request.headers.append(HTTP2Header("x-large", String(repeating: "x", count: 1_000)))
        #expect(try await client.send(request, timeout: .seconds(5)).status == 431)
        #expect(try await client.send(.push(), timeout: .seconds(5)).status == 200)
        #expect(requests.elements.count == 1)
        await client.close(drain: .seconds(5))
    }

    @Test func `connections above the limit are closed at once`() async throws {
        var options = HTTP2ServerOptions()
        options.maxConnections = 2
        let bed = try await TestBed(options: options) { _, responder in responder.respond(status: 200) }
        let clients = [try await bed.connect(), try await bed.connect()]
        await #expect(throws: HTTP2Error.self) { try await bed.connect() }
        for client in clients {
            #expect(try await client.send(.push(), timeout: .seconds(5)).status == 200)
            await client.close(drain: .seconds(5))
        }
    }

    @Test func `only the first answer to a request counts`() async throws {
        let bed = try await TestBed { _, responder in
            responder.respond(status: 201)
            responder.respond(status: 500)
            responder.reset(errorCode: 2)
        }
        let client = try await bed.connect()
        let first = try? await client.send(.push(), timeout: .seconds(5)).status
        // The reset may overtake the end of the answer, but the second answer may not.
        #expect(first == 201 || first == nil)
        await client.close(drain: .seconds(5))
    }

    @Test func `a handler hears of connections and can steer them`() async throws {
        let opened = Collector<HTTP2ConnectionControl>()
        let closed = Collector<Int>()
        let bed = try await TestBed(handler: Doorman(opened: opened, closed: closed))
        let client = try await bed.connect()
        let control = await opened.wait(for: 1)[0]
        control.setMaxConcurrentStreams(7)
        #expect(await client.wait { $0.peerMaxConcurrentStreams == 7 }.isClosing == false)
        control.goAway(errorCode: 11, opaqueData: Array("enough".utf8))
        #expect(await client.wait { $0.isClosed }.goAwayReason == "enough")
        #expect(await closed.wait(for: 1) == [control.connectionID])
        // Nothing happens, and nothing breaks.
        control.abort()
        await bed.server.stop()
        control.abort()
    }

    @Test func `a port in use and a key that does not fit are reported`() async throws {
        let bed = try await TestBed { _, responder in responder.respond(status: 200) }
        let (one, two) = (try TestBed.identity(), try TestBed.identity())
        let inUse = await failure { () throws(HTTP2Error) in
            try await start(port: bed.server.port, one)
        }
        #expect(inUse?.message.contains("Address already in use") == true)
        let mixed = TLSIdentity(certificatePEM: one.certificatePEM, privateKeyPEM: two.privateKeyPEM)
        let wrongKey = await failure { () throws(HTTP2Error) in try await start(port: 0, mixed) }
        #expect(wrongKey?.code == .tlsFailed)
    }

    private func start(port: Int, _ identity: TLSIdentity) async throws(HTTP2Error) -> HTTP2Server {
        try await HTTP2Server.start(
            host: "127.0.0.1",
            port: port,
            tls: TLSServerConfiguration(identity: identity),
            handler: ScriptedHandler { _, _ in },
            telemetry: .silent()
        )
    }

    private struct Doorman: HTTP2ServerHandler {
        let opened: Collector<HTTP2ConnectionControl>
        let closed: Collector<Int>

        func connectionOpened(_ connection: HTTP2ConnectionControl) {
            opened.append(connection)
        }

        func handle(_ request: HTTP2ServerRequest, respond: HTTP2Responder) {}

        func connectionClosed(_ connectionID: Int) {
            closed.append(connectionID)
        }
    }
}
