import HTTPServer
import Observability
import Testing

@Suite struct StopTests {
    @Test func `a running request ends before the server does`() async throws {
        let fixture = try Fixture()
        let idle = try fixture.client()
        try await idle.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await idle.receive().status == 200)
        let busy = try fixture.client()
        try await busy.send("GET /gate HTTP/1.1\r\nHost: x\r\n\r\n")
        await fixture.gate.waitForHandler()
        async let stopped: Void = fixture.server.stop(deadline: .seconds(10))
        // The idle connection is closed at once, which also shows that the stop has begun.
        #expect(try await idle.isClosed())
        #expect(throws: RawClient.Failure.self) { try fixture.client() }
        await fixture.gate.open()
        let response = try await busy.receive()
        #expect(response.status == 200)
        #expect(response.header("connection")?.lowercased() == "close")
        await stopped
    }

    @Test func `a request past the deadline is answered 503 and cancelled`() async throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        try await client.send("GET /gate HTTP/1.1\r\nHost: x\r\n\r\n")
        await fixture.gate.waitForHandler()
        await fixture.server.stop(deadline: .milliseconds(20))
        let response = try await client.receive()
        #expect(response.status == 503)
        #expect(response.body.contains("stopping"))
        await fixture.gate.open()
    }

    @Test func `a client that does not read its answer is cut off`() async throws {
        let fixture = try Fixture { $0.sendTimeout = .seconds(1) }
        let client = try fixture.client()
        try await client.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await client.receiveHead().status == 200)
        // The stop waits for the answer to go out, which it never does.
        await fixture.server.stop(deadline: .seconds(15))
        let metrics = fixture.telemetry.metrics.render()
        #expect(metrics.contains(#"http_server_connections_closed_total{reason="send_timeout"} 1"#))
    }

    @Test func `stopping twice is harmless and an address in use is told`() async throws {
        let fixture = try Fixture()
        let error = #expect(throws: HTTPServerError.self) {
            try Fixture { $0.listen = "127.0.0.1:\(fixture.server.port)" }
        }
        #expect(error?.code == .bind)
        await fixture.stop()
        await fixture.stop()
    }

    @Test(arguments: ["", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000", "no such host:80"])
    func `an unreadable listen address is told`(address: String) {
        let error = #expect(throws: HTTPServerError.self) { try Fixture { $0.listen = address } }
        #expect(error?.code == .address)
    }
}
