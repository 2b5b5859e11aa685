import HTTPServer
import Kernel
import Observability
import Testing

/// The server over a real socket, with well-behaved clients.
@Suite struct ServerTests {
    @Test func `many requests are answered on one connection`() async throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        for _ in 0..<3 {
            try await client.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
            let response = try await client.receive()
            #expect(response.status == 200)
            #expect(response.body == #"{"hello":"world"}"#)
            #expect(response.header("content-type") == "application/json")
            #expect(response.header("cache-control") == "no-store")
        }
        await fixture.stop()
    }

    @Test func `a body goes to the handler with length or in chunks`() async throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        try await client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabcde")
        #expect(try await client.receive().body.contains(#""size":5"#))
        try await client.send(
            "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"
        )
        #expect(try await client.receive().body.contains(#""size":7"#))
        await fixture.stop()
    }

    @Test func `HEAD has the headers of GET and no body`() async throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        try await client.send("HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n")
        let response = try await client.receive(hasBody: false)
        #expect(response.status == 200)
        #expect(response.header("content-length") == "17")
        try await client.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await client.receive().status == 200)
        await fixture.stop()
    }

    @Test(arguments: [
        ("GET /nothing", 404, "not-found"), ("PUT /hello", 405, "method-not-allowed"),
        ("TRACE /hello", 405, "method-not-allowed"),
        ("BREW /hello", 501, "method-not-implemented"), ("GET /things/%zz", 400, "bad-request-target"),
        ("GET /things/%00", 400, "bad-request-target"), ("GET /things/%ff", 400, "bad-request-target"),
        ("GET /fails", 500, "internal-error"), ("GET /refuses", 422, "bad"), ("GET hello", 400, "bad-request-target"),
    ])
    func `a refusal is a problem with the request's id`(line: String, status: Int, slug: String) async throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        try await client.send("\(line) HTTP/1.1\r\nHost: x\r\nX-Request-Id: my-id_1.2\r\n\r\n")
        let response = try await client.receive()
        #expect(response.status == status)
        #expect(response.header("content-type") == "application/problem+json")
        #expect(response.header("x-request-id") == "my-id_1.2")
        let problem = try JSONValue(parsing: response.body)
        #expect(problem["type"]?.stringValue == "urn:test:problem:\(slug)")
        #expect(problem["status"]?.integerValue == Int64(status))
        #expect(problem["requestId"]?.stringValue == "my-id_1.2")
        #expect(!response.body.contains("secret"))
        // The connection is still good.
        try await client.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await client.receive().status == 200)
        await fixture.stop()
    }

    @Test func `405 and OPTIONS name the methods`() async throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        try await client.send("POST /things/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nxx")
        #expect(try await client.receive().header("allow") == "DELETE, GET, HEAD, OPTIONS")
        try await client.send("OPTIONS /things/1 HTTP/1.1\r\nHost: x\r\n\r\n")
        let options = try await client.receive()
        #expect(options.status == 204)
        #expect(options.header("allow") == "DELETE, GET, HEAD, OPTIONS")
        await fixture.stop()
    }

    @Test func `more requests than allowed to run are asked to come back`() async throws {
        let fixture = try Fixture { $0.runningRequests = 1 }
        let first = try fixture.client()
        let second = try fixture.client()
        try await first.send("GET /gate HTTP/1.1\r\nHost: x\r\n\r\n")
        await fixture.gate.waitForHandler()
        try await second.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
        let refused = try await second.receive()
        #expect(refused.status == 503)
        #expect(refused.header("retry-after") == "1")
        await fixture.gate.open()
        #expect(try await first.receive().status == 200)
        try await second.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await second.receive().status == 200)
        await fixture.stop()
    }

    @Test func `a handler past its deadline is answered for, and its late answer goes nowhere`() async throws {
        let fixture = try Fixture { $0.requestDeadline = .milliseconds(50) }
        let client = try fixture.client()
        try await client.send("GET /gate HTTP/1.1\r\nHost: x\r\n\r\n")
        let response = try await client.receive()
        #expect(response.status == 503)
        #expect(response.body.contains("deadline-exceeded"))
        await fixture.gate.open()
        try await client.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await client.receive().body.contains("world"))
        await fixture.stop()
    }

    @Test func `requests are counted by template and never by path`() async throws {
        let fixture = try Fixture()
        let client = try fixture.client()
        try await client.send("GET /things/token-4711 HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await client.receive().status == 200)
        try await client.send("GET /token-4711 HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await client.receive().status == 404)
        let metrics = fixture.telemetry.metrics.render()
        #expect(metrics.contains(#"http_server_requests_total{method="GET",route="/things/{id}",status="200"} 1"#))
        #expect(metrics.contains(#"http_server_requests_total{method="GET",route="(unmatched)",status="404"} 1"#))
        #expect(metrics.contains("http_server_in_flight 0"))
        let log = fixture.sink.lines.joined(separator: "\n")
        #expect(log.contains(#""route":"/things/{id}","status":200"#))
        #expect(!(metrics + log).contains("4711"))
        await fixture.stop()
    }
}
