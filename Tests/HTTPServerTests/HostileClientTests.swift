import HTTPServer
import Kernel
import Observability
import Testing

/// Clients that are broken or mean it.
@Suite struct HostileClientTests {
    @Test(arguments: [
        ("Content-Length: 5\r\nContent-Length: 5\r\n\r\nabcde", "bad-framing"),
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "bad-framing"),
        ("Transfer-Encoding: gzip\r\n\r\nabc", "bad-framing"), ("Host: y\r\nContent-Length: 1\r\n\r\na", "bad-framing"),
    ])
    func `framing that two servers could read differently closes the connection`(rest: String, slug: String)
        async throws
    {
        let fixture = try Fixture()
        let client = try fixture.client()
        try await client.send("POST /echo HTTP/1.1\r\nHost: x\r\n\(rest)")
        let response = try await client.receive()
        #expect(response.status == 400)
        #expect(response.body.contains(slug))
        #expect(try await client.isClosed())
        await fixture.stop()
    }

    @Test(arguments: ["Content-Length: -1", "Content-Length: 5x", "Content-Length: 99999999999999999999999"])
    func `a length that is no number is refused`(header: String) async throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        try await client.send("POST /echo HTTP/1.1\r\nHost: x\r\n\(header)\r\n\r\nabc")
        let response = try await client.receive()
        #expect([400, 413].contains(response.status))
        #expect(try await client.isClosed())
        await fixture.stop()
    }

    @Test func `a body beyond the route's limit is refused and the connection closed`() async throws {
        let fixture = try Fixture()
        let body = String(repeating: "x", count: 5000)
        let declared = try fixture.client()
        try await declared.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n\(body)")
        let first = try await declared.receive()
        #expect(first.status == 413)
        #expect(first.body.contains("1000 bytes"))
        #expect(try await declared.isClosed())

        let chunked = try fixture.client()
        try await chunked.send(
            "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n\(body)\r\n0\r\n\r\n"
        )
        #expect(try await chunked.receive().status == 413)
        #expect(try await chunked.isClosed())
        await fixture.stop()
    }

    @Test func `who may not call is told so before the body is read`() async throws {
        let fixture = try Fixture()
        let stranger = try fixture.client()
        // Eight megabytes are promised, none is sent.
        try await stranger.send("POST /guarded HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\n")
        #expect(try await stranger.receive().status == 401)
        #expect(try await stranger.isClosed())
        let known = try fixture.client()
        try await known.send("POST /guarded HTTP/1.1\r\nHost: x\r\nX-Key: right\r\nContent-Length: 3\r\n\r\nabc")
        #expect(try await known.receive().body.contains("3"))
        await fixture.stop()
    }

    @Test(.timeLimit(.minutes(1)))
    func `bodies of all connections together have a limit`() async throws {
        let fixture = try Fixture { $0.bodyBudget = 60_000 }
        let request =
            "POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 40000\r\n\r\n" + String(repeating: "x", count: 40_000)
        let first = try fixture.client()
        try await first.send(request)
        await fixture.gate.waitForHandler()
        let second = try fixture.client()
        try await second.send(request)
        let refused = try await second.receive()
        #expect(refused.status == 503)
        #expect(refused.header("retry-after") == "1")
        await fixture.gate.open()
        #expect(try await first.receive().status == 200)
        // What was held is free again, also on the refused connection.
        try await second.send(request)
        await fixture.gate.waitForHandler()
        await fixture.gate.open()
        #expect(try await second.receive().status == 200)
        await fixture.stop()
    }

    @Test func `a huge declared body is refused before it is read`() async throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        try await client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000000\r\n\r\n")
        #expect(try await client.receive().status == 413)
        #expect(try await client.isClosed())
        await fixture.stop()
    }

    @Test func `a client that waits to be asked is refused without sending its body`() async throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        try await client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\nExpect: 100-continue\r\n\r\n")
        #expect(try await client.receive().status == 413)
        await fixture.stop()
    }

    @Test func `an endless chunked body is cut off`() async throws {
        let fixture = try Fixture { $0.discardedBytes = 100_000 }
        let client = try fixture.client()
        try await client.send("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        let chunk = "2710\r\n" + String(repeating: "x", count: 10_000) + "\r\n"
        for _ in 0..<50 { try await client.send(chunk) }
        #expect(try await client.isClosed())
        await fixture.stop()
    }

    @Test func `too long a target, too many and too large headers are told apart`() async throws {
        let fixture = try Fixture()
        let long = try fixture.client()
        try await long.send("GET /\(String(repeating: "a", count: 9000)) HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await long.receive().status == 414)

        let many = try fixture.client()
        let fields = (0..<70).map { "X-H\($0): v\r\n" }.joined()
        try await many.send("GET /hello HTTP/1.1\r\nHost: x\r\n\(fields)\r\n")
        #expect(try await many.receive().status == 431)

        let large = try fixture.client()
        try await large.send("GET /hello HTTP/1.1\r\nHost: x\r\nX: \(String(repeating: "v", count: 20_000))\r\n\r\n")
        let response = try await large.receive()
        #expect(response.status == 431)
        #expect(response.header("x-request-id") != nil)

        let endless = try fixture.client()
        try await endless.send("GET /hello HTTP/1.1\r\nHost: x\r\nX: \(String(repeating: "v", count: 200_000))\r\n\r\n")
        #expect(try await endless.receive().status == 431)
        await fixture.stop()
    }

    @Test func `a head or body that never ends is cut off`() async throws {
        let fixture = try Fixture { $0.receiveTimeout = .milliseconds(100) }
        for start in [
            "", "GET /hel", "GET /hello HTTP/1.1\r\nHost: x\r\nX-A: ",
            "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc",
        ] {
            let client = try fixture.client()
            try await client.send(start)
            #expect(try await client.isClosed())
        }
        let metrics = fixture.telemetry.metrics.render()
        #expect(metrics.contains(#"http_server_connections_closed_total{reason="receive_timeout"} 4"#))
        await fixture.stop()
    }

    @Test func `an idle connection is closed`() async throws {
        let fixture = try Fixture { $0.idleTimeout = .milliseconds(100) }
        let client = try fixture.client()
        try await client.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await client.receive().status == 200)
        #expect(try await client.isClosed())
        await fixture.stop()
    }

    @Test func `pipelined requests are answered in order`() async throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        try await client.send((1...20).map { "GET /things/\($0) HTTP/1.1\r\nHost: x\r\n\r\n" }.joined())
        for number in 1...20 {
            #expect(try await client.receive().body.contains("\"id\":\"\(number)\""))
        }
        await fixture.stop()
    }

    @Test func `a client that closed its sending half still gets its answer`() async throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        try await client.send("GET /gate HTTP/1.1\r\nHost: x\r\n\r\n")
        try await client.finishSending()
        await fixture.gate.waitForHandler()
        await fixture.gate.open()
        #expect(try await client.receive().status == 200)
        await fixture.stop()
    }

    @Test func `a client that left while its handler ran harms nobody`() async throws {
        let fixture = try Fixture()
        for _ in 0..<10 {
            do {
                let client = try fixture.client()
                try await client.send("GET /gate HTTP/1.1\r\nHost: x\r\n\r\n")
                await fixture.gate.waitForHandler()
            }
            await fixture.gate.open()
        }
        let client = try fixture.client()
        try await client.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await client.receive().status == 200)
        await fixture.stop()
    }

    @Test(arguments: [
        "\u{0}\u{1}\u{2}\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /hello HTTP/1.1\r\n\r\n", "\r\n\r\n\r\n\r\nxx",
    ])
    func `nonsense is refused and the server lives on`(bytes: String) async throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        try await client.send(bytes)
        try await client.finishSending()
        _ = try? await client.receive()
        let next = try fixture.client()
        try await next.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await next.receive().status == 200)
        await fixture.stop()
    }
}
