import HTTPServer
import Kernel
import Observability
import Testing

/// Routing and the desk through the client without a socket.
@Suite struct RouterTests {
    private func client(_ router: Router = Fixture.router(), trusted: [String] = []) -> InProcessClient {
        var options = Fixture.desk
        options.trustedProxies = TrustedProxies(trusted.compactMap { AddressBlock($0) })
        return InProcessClient(router: router, options: options, telemetry: .silent(), peer: "10.0.0.1")
    }

    private func text(_ response: HTTPResponse) -> String { String(decoding: response.body, as: UTF8.self) }

    @Test func `a literal goes before a parameter and falls back to it for another method`() async {
        var router = Router()
        for (method, template) in [
            (HTTPMethod.get, "/n/{id}"), (.post, "/n/read-all"), (.get, "/n/dev/ping"), (.get, "/n/{id}/read"),
            (.delete, "/n/{message}/schedule"),
        ] {
            router.on(method, template) { .json(["route": .string($0.route)]) }
        }
        let client = client(router)
        let table: [(HTTPMethod, String, String)] = [
            (.get, "/n/1", "/n/{id}"), (.post, "/n/read-all", "/n/read-all"), (.get, "/n/read-all", "/n/{id}"),
            (.get, "/n/dev/ping", "/n/dev/ping"), (.get, "/n/dev/read", "/n/{id}/read"),
            (.delete, "/n/1/schedule", "/n/{message}/schedule"),
        ]
        for (method, path, route) in table {
            #expect(text(await client.send(method, path)).contains("\"\(route)\""), "\(path)")
        }
        #expect(await client.send(.get, "/n/").status == 404)
        #expect(await client.send(.get, "/n").status == 404)
        #expect(await client.send(.get, "/n/1/").status == 404)
        #expect(await client.send(.delete, "/n/read-all").headers["allow"] == "GET, HEAD, OPTIONS, POST")
    }

    @Test(arguments: [
        ("/things/a%2Fb", "a/b"), ("/things/a%252Fb", "a%2Fb"), ("/things/%C3%A5", "å"), ("/things/a+b", "a+b"),
        ("http://host/things/x", "x"),
    ])
    func `a parameter is decoded once`(target: String, value: String) async throws {
        let response = await client().send(.get, target)
        #expect(response.status == 200)
        #expect(try JSONValue(parsing: response.body)["id"]?.stringValue == value)
    }

    @Test func `a query is decoded as a form`() async throws {
        let response = await client().send(.get, "/things/1?q=a+b%26c&q=second")
        #expect(try JSONValue(parsing: response.body)["q"]?.stringValue == "a b&c")
    }

    @Test(arguments: [
        ("application/json", "{}", 200), ("application/json; charset=utf-8", "[1]", 200),
        ("Application/JSON;charset=\"UTF-8\"", "1", 200), ("application/json; charset=latin1", "{}", 415),
        ("text/plain", "{}", 415), ("application/jsonx", "{}", 415), ("application/json", "{\"a\":", 400),
        ("application/json", "", 400), ("application/json", "{\"a\":1,\"a\":2}", 400),
    ])
    func `JSON needs its content type and must parse`(type: String, body: String, status: Int) async {
        let response = await client().send(.post, "/json", headers: ["content-type": type], body: Array(body.utf8))
        #expect(response.status == status)
        if status == 400 { #expect(text(response).contains("at byte")) }
    }

    @Test(arguments: ["", "has space", "ø", String(repeating: "a", count: 129), "a\"b"])
    func `an unacceptable request id is replaced`(id: String) async {
        let response = await client().send(.get, "/hello", headers: ["x-request-id": id])
        #expect(response.headers["x-request-id"] != id)
        #expect(response.headers["x-request-id"]?.utf8.count == 36)
    }

    @Test func `several faults are listed`() async throws {
        let problem = try JSONValue(parsing: await client().send(.get, "/refuses").body)
        #expect(problem["pointer"]?.stringValue == "/a")
        #expect(problem["errors"]?.arrayValue?.count == 2)
    }

    @Test(arguments: [
        ([], "1.2.3.4", "10.0.0.1"), (["10.0.0.0/8"], "1.2.3.4", "1.2.3.4"),
        (["10.0.0.0/8"], "6.6.6.6, 1.2.3.4", "1.2.3.4"), (["10.0.0.0/8"], "6.6.6.6, 1.2.3.4, 10.9.9.9", "1.2.3.4"),
        (["10.0.0.0/8"], "nonsense", "10.0.0.1"), (["10.0.0.2"], "1.2.3.4", "10.0.0.1"),
        (["10.0.0.1", "fd00::/8"], "2001:db8::1, fd00::7", "2001:db8::1"), (["10.0.0.0/8"], "10.1.1.1", "10.1.1.1"),
    ])
    func `the client is the rightmost hop that is no trusted proxy`(
        trusted: [String],
        forwarded: String,
        client address: String
    ) async {
        let response = await client(trusted: trusted).send(.get, "/address", headers: ["x-forwarded-for": forwarded])
        #expect(text(response) == "{\"address\":\"\(address)\"}")
    }

    @Test(arguments: ["10.0.0.0/33", "10.0.0/8", "x", "10.0.0.0/-1", "::/129", "10.0.0.0/"])
    func `a bad address block is refused`(block: String) {
        #expect(AddressBlock(block) == nil)
    }

    @Test func `operations answer health with reasons and metrics`() async {
        let telemetry = Telemetry.silent()
        let client = client(OperationsServer.router(telemetry: telemetry))
        #expect(await client.send(.get, "/livez").status == 200)
        #expect(await client.send(.get, "/readyz").status == 200)
        #expect(text(await client.send(.get, "/metrics")).contains("process_ready 1"))
        telemetry.health.set("redis", problem: "connection refused")
        let notReady = await client.send(.get, "/readyz")
        #expect(notReady.status == 503)
        #expect(text(notReady).contains(#""redis":"connection refused""#))
        telemetry.metrics.counter("things_total", help: "Things.").increment()
        let metrics = text(await client.send(.get, "/metrics"))
        #expect(metrics.contains("things_total 1"))
        #expect(metrics.contains("process_ready 0"))
    }

    @Test func `operations listen on a port of their own`() async throws {
        let server = try OperationsServer.start(listen: "127.0.0.1:0", telemetry: .silent())
        let client = try RawClient(port: server.port)
        try await client.send("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await client.receive().status == 200)
        await server.stop()
    }
}
