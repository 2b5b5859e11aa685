import HTTP2
import Kernel
import Observability
import Testing

@Suite(.timeLimit(.minutes(1)))
struct RequestTests {
    @Test func `a request arrives as it was sent, and so does its answer`() async throws {
        let requests = Collector<HTTP2ServerRequest>()
        let bed = try await TestBed { request, responder in
            requests.append(request)
            responder.respond(
                status: 410,
                headers: [HTTP2Header("apns-id", "x"), HTTP2Header("empty", "")],
                body: Array("gone".utf8)
            )
        }
        let client = try await bed.connect()
        var request = HTTP2Request.push("/3/device/ab?x=1", body: Array("body".utf8))
        request.headers.append(HTTP2Header("authorization", "bearer secret", neverIndexed: true))
        let response = try await client.send(request, timeout: .seconds(10))
        #expect(response.status == 410)
        #expect(response.body == Array("gone".utf8))
        #expect(response.header("apns-id") == "x")
        #expect(response.header("apns-i") == nil)
        #expect(response.headers == [HTTP2Header("apns-id", "x"), HTTP2Header("empty", "")])
        let received = try #require(requests.elements.first)
        #expect(received.method == "POST")
        #expect(received.path == "/3/device/ab?x=1")
        #expect(received.authority == "localhost")
        #expect(received.header("authorization") == "bearer secret")
        #expect(received.body == Array("body".utf8))
        await client.close(drain: .seconds(5))
        await bed.server.stop()
    }

    @Test func `a thousand requests at once are each answered with their own answer`() async throws {
        let bed = try await TestBed { request, responder in
            responder.respond(status: 200, body: Array(request.path.utf8))
        }
        let client = try await bed.connect()
        let answers = Collector<(Int, Result<HTTP2Response, HTTP2Error>)>()
        for number in 0..<1_000 {
            client.send(.push("/\(number)"), timeout: .seconds(20)) { answers.append((number, $0)) }
        }
        let all = await answers.wait(for: 1_000)
        let wrong = all.filter { number, result in (try? result.get().body) != Array("/\(number)".utf8) }
        #expect(wrong.isEmpty)
        #expect(Set(all.map(\.0)).count == 1_000)
        #expect(bed.telemetry.metrics.counter("http2_client_responses_total", help: "").current == 1_000)
        await client.close(drain: .seconds(5))
    }

    @Test func `bodies far larger than the windows pass in both directions`() async throws {
        let bed = try await TestBed { request, responder in responder.respond(status: 200, body: request.body) }
        var options = HTTP2ClientOptions()
        options.maxResponseBody = 1024 * 1024
        let client = try await bed.connect(options)
        let body = (0..<900_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
        let first = try await client.send(.push(body: body), timeout: .seconds(20))
        #expect(first.body == body)
        let second = try await client.send(.push(body: []), timeout: .seconds(20))
        #expect(second.body.isEmpty)
        await client.close(drain: .seconds(5))
    }

    @Test(arguments: [
        HTTP2Header("Upper", "x"), HTTP2Header("", "x"), HTTP2Header("a b", "x"), HTTP2Header(":path", "/evil"),
        HTTP2Header("x", "line\r\nbreak"), HTTP2Header("x", "nul\0"),
    ])
    func `a header that HTTP/2 forbids is refused before anything is sent`(_ header: HTTP2Header) async throws {
        let requests = Collector<HTTP2ServerRequest>()
        let bed = try await TestBed { request, responder in
            requests.append(request)
            responder.respond(status: 200)
        }
        let client = try await bed.connect()
        var request = HTTP2Request.push()
        request.headers = [header]
        let error = await failure { () throws(HTTP2Error) in try await client.send(request, timeout: .seconds(5)) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.wasProcessed == .no)
        #expect(try await client.send(.push(), timeout: .seconds(5)).status == 200)
        #expect(requests.elements.count == 1)
        #expect(client.state.activeStreams == 0)
        await client.close(drain: .seconds(5))
    }
}
