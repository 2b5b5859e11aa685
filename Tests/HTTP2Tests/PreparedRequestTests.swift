import HTTP2
import Kernel
import Observability
import Synchronization
import Testing

/// Requests whose header fields are laid out once and shared.
@Suite(.timeLimit(.minutes(1)))
struct PreparedRequestTests {
    private func group(_ headers: [HTTP2Header] = [HTTP2Header("apns-topic", "com.example")]) throws -> HTTP2HeaderGroup
    {
        try HTTP2HeaderGroup(method: "POST", authority: "localhost", headers: headers)
    }

    private func request(_ group: HTTP2HeaderGroup, _ number: Int, body: [UInt8] = [1, 2, 3]) -> HTTP2PreparedRequest {
        var own = HTTP2Fields(path: "/3/device/", "\(number)")
        own.append("apns-id", "id-\(number)", neverIndexed: true)
        return HTTP2PreparedRequest(shared: group, own: own, body: body)
    }

    @Test func `shared and own fields arrive together, each request with its own`() async throws {
        let seen = Collector<HTTP2ServerRequest>()
        let bed = try await TestBed { request, responder in
            seen.append(request)
            responder.respond(status: 200, headers: [HTTP2Header("apns-id", request.header("apns-id") ?? "")])
        }
        let client = try await bed.connect()
        let shared = try group([
            HTTP2Header("authorization", "bearer secret"), HTTP2Header("apns-topic", "com.example"),
        ])
        let results = Collector<Result<HTTP2Response, HTTP2Error>>()
        for number in 0..<200 {
            client.send(request(shared, number), timeout: .seconds(20)) { results.append($0) }
        }
        let answers = try await results.wait(for: 200).map { try $0.get() }
        #expect(Set(answers.compactMap { $0.header("apns-id") }).count == 200)
        let first = try #require(seen.elements.first { $0.path == "/3/device/0" })
        #expect(first.method == "POST")
        #expect(first.authority == "localhost")
        #expect(first.headers.map(\.name) == ["authorization", "apns-topic", "apns-id"])
        #expect(first.header("authorization") == "bearer secret")
        #expect(first.header("apns-id") == "id-0")
        #expect(first.body == [1, 2, 3])
        await client.close(drain: .seconds(5))
    }

    @Test func `what HTTP/2 cannot carry is refused, shared or own`() async throws {
        #expect(throws: HTTP2Error.self) { try group([HTTP2Header("apns-topic", "a\nb")]) }
        #expect(throws: HTTP2Error.self) { try group([HTTP2Header(":path", "/")]) }
        #expect(throws: HTTP2Error.self) { try group([HTTP2Header("Upper", "x")]) }
        let bed = try await TestBed { _, responder in responder.respond(status: 200) }
        let client = try await bed.connect()
        let results = Collector<Result<HTTP2Response, HTTP2Error>>()
        var own = HTTP2Fields(path: "/", "x")
        own.append("apns-id", "a\r\nb")
        client.send(HTTP2PreparedRequest(shared: try group(), own: own, body: []), timeout: .seconds(5)) {
            results.append($0)
        }
        let error = await results.wait(for: 1)[0]
        #expect(throws: HTTP2Error.self) { try error.get() }
        #expect(client.state.activeStreams == 0)
        await client.close(drain: .seconds(5))
    }

    @Test func `a group may be let go of while requests with it still wait`() async throws {
        var serverOptions = HTTP2ServerOptions()
        serverOptions.initialWindowSize = 100
        let bed = try await TestBed(options: serverOptions) { _, responder in responder.respond(status: 200) }
        let client = try await bed.connect()
        let results = Collector<Result<HTTP2Response, HTTP2Error>>()
        for number in 0..<300 {
            let body = [UInt8](repeating: 7, count: 4000)
            client.send(request(try group(), number, body: body), timeout: .seconds(20)) { results.append($0) }
        }
        // Some are answered, some broken off in the middle; none may touch what is gone.
        await client.close(drain: .milliseconds(5))
        #expect(await results.wait(for: 300).count == 300)
    }

    @Test func `only the headers of interest are kept`() async throws {
        let bed = try await TestBed { _, responder in
            responder.respond(
                status: 200,
                headers: [HTTP2Header("server", "x"), HTTP2Header("apns-id", "i"), HTTP2Header("apns-ix", "no")]
            )
        }
        var options = HTTP2ClientOptions()
        options.keptHeaders = ["apns-id", "retry-after"]
        let client = try await bed.connect(options)
        let response = try await client.send(.push(), timeout: .seconds(5))
        #expect(response.headers == [HTTP2Header("apns-id", "i")])
        await client.close(drain: .seconds(5))
    }
}
