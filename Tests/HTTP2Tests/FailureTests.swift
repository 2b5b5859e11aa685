import HTTP2
import Kernel
import Observability
import Testing

/// What becomes of requests when the peer misbehaves: the code, and above all whether sending again could make a duplicate.
@Suite(.timeLimit(.minutes(1)))
struct FailureTests {
    @Test func `after GOAWAY the streams above are not processed and those below are awaited`() async throws {
        let held = Collector<HTTP2Responder>()
        let bed = try await TestBed { _, responder in held.append(responder) }
        let client = try await bed.connect()
        let results = Collector<(Int32, Result<HTTP2Response, HTTP2Error>)>()
        for number in 0..<10 {
            client.send(.push(), timeout: .seconds(20)) { results.append((Int32(2 * number + 1), $0)) }
        }
        let responders = await held.wait(for: 10)
        responders[0].goAway(lastStreamID: 7, opaqueData: Array(#"{"reason":"Shutdown"}"#.utf8))
        let above = await results.wait(for: 6)
        #expect(Set(above.map(\.0)) == [9, 11, 13, 15, 17, 19])
        for (_, result) in above {
            let error = #expect(throws: HTTP2Error.self) { try result.get() }
            #expect(error?.code == .goAwayNotProcessed)
            #expect(error?.wasProcessed == .no)
            #expect(error?.message.contains("Shutdown") == true)
        }
        #expect(client.state.isClosing)
        #expect(client.state.goAwayReason == #"{"reason":"Shutdown"}"#)
        let late = await failure { () throws(HTTP2Error) in try await client.send(.push(), timeout: .seconds(5)) }
        #expect(late?.code == .closing)
        #expect(late?.wasProcessed == .no)
        for responder in responders { responder.respond(status: 200) }
        let all = await results.wait(for: 10)
        #expect(all.filter { (try? $0.1.get().status) == 200 }.map(\.0).sorted() == [1, 3, 5, 7])
        #expect(await client.wait { $0.isClosed }.activeStreams == 0)
    }

    @Test func `a refused stream was not processed, a reset one may have been`() async throws {
        let bed = try await TestBed { request, responder in
            responder.reset(errorCode: request.path == "/refuse" ? 7 : 2)
        }
        let client = try await bed.connect()
        let refused = await failure { () throws(HTTP2Error) in
            try await client.send(.push("/refuse"), timeout: .seconds(5))
        }
        #expect(refused?.code == .refusedStream)
        #expect(refused?.wasProcessed == .no)
        let reset = await failure { () throws(HTTP2Error) in
            try await client.send(.push("/reset"), timeout: .seconds(5))
        }
        #expect(reset?.code == .streamReset)
        #expect(reset?.wasProcessed == .unknown)
        #expect(reset?.resetCode == 2)
        await client.close(drain: .seconds(5))
    }

    @Test func `a connection that breaks leaves written requests open to doubt`() async throws {
        let held = Collector<HTTP2Responder>()
        let bed = try await TestBed { _, responder in held.append(responder) }
        let client = try await bed.connect()
        let results = Collector<Result<HTTP2Response, HTTP2Error>>()
        for _ in 0..<50 { client.send(.push(), timeout: .seconds(20)) { results.append($0) } }
        await held.wait(for: 50)[0].abort()
        for result in await results.wait(for: 50) {
            let error = #expect(throws: HTTP2Error.self) { try result.get() }
            #expect(error?.code == .connectionLost)
            #expect(error?.wasProcessed == .unknown)
        }
        #expect(await client.wait { $0.isClosed }.isClosing)
        let late = await failure { () throws(HTTP2Error) in try await client.send(.push(), timeout: .seconds(5)) }
        #expect(late?.code == .closing)
        await #expect(throws: HTTP2Error.self) { try await client.ping(timeout: .seconds(5)) }
    }

    @Test func `a request without answer times out, resets its stream and frees it`() async throws {
        let held = Collector<HTTP2Responder>()
        let bed = try await TestBed { request, responder in
            if request.path == "/answer" { responder.respond(status: 200) } else { held.append(responder) }
        }
        let client = try await bed.connect()
        let error = await failure { () throws(HTTP2Error) in
            try await client.send(.push("/hold"), timeout: .milliseconds(80))
        }
        #expect(error?.code == .timeout)
        #expect(error?.wasProcessed == .unknown)
        #expect(await client.wait { $0.activeStreams == 0 }.timeoutsInARow == 1)
        #expect(try await client.send(.push("/answer"), timeout: .seconds(5)).status == 200)
        #expect(client.state.timeoutsInARow == 0)
        await client.close(drain: .seconds(5))
    }

    @Test func `cancelling the task resets the stream`() async throws {
        let held = Collector<HTTP2Responder>()
        let bed = try await TestBed { _, responder in held.append(responder) }
        let client = try await bed.connect()
        let task = Task {
            await failure { () throws(HTTP2Error) in try await client.send(.push(), timeout: .seconds(30)) }
        }
        await held.wait(for: 1)
        task.cancel()
        #expect(await task.value?.code == .cancelled)
        #expect(await client.wait { $0.activeStreams == 0 }.isClosing == false)
        await client.close(drain: .seconds(5))
    }

    @Test func `an answer that is too large is cut off without harm to the others`() async throws {
        let bed = try await TestBed { request, responder in
            switch request.path {
            case "/body": responder.respond(status: 200, body: [UInt8](repeating: 1, count: 10_001))
            case "/headers":
                responder.respond(status: 200, headers: [HTTP2Header("x", String(repeating: "x", count: 3_000))])
            default: responder.respond(status: 200, body: [UInt8](repeating: 1, count: 10_000))
            }
        }
        var options = HTTP2ClientOptions()
        options.maxResponseBody = 10_000
        options.maxResponseHeaders = 2_000
        let client = try await bed.connect(options)
        for path in ["/body", "/headers"] {
            let error = await failure { () throws(HTTP2Error) in
                try await client.send(.push(path), timeout: .seconds(5))
            }
            #expect(error?.code == .responseTooLarge)
            #expect(error?.wasProcessed == .unknown)
        }
        #expect(try await client.send(.push("/fits"), timeout: .seconds(5)).body.count == 10_000)
        await client.close(drain: .seconds(5))
    }

    @Test func `a silent peer is declared dead although its requests time out sooner`() async throws {
        // A frozen process: its kernel still acknowledges every byte, but nobody answers.
        let peer = try await NGHTTPD.start()
        defer { peer.stop() }
        var options = HTTP2ClientOptions()
        options.stallAfter = .milliseconds(150)
        options.stallPingTimeout = .milliseconds(150)
        let client = try await peer.connect(options)
        peer.freeze()
        let error = await failure { () throws(HTTP2Error) in try await client.send(.push(), timeout: .milliseconds(60))
        }
        #expect(error?.code == .timeout)
        #expect(error?.wasProcessed == .unknown)
        #expect(await client.wait { $0.isClosed }.isClosed)
        #expect(peer.telemetry.metrics.counter("http2_client_connections_stalled_total", help: "").current == 1)
    }

    @Test func `an idle connection whose peer vanished is found out before the next request`() async throws {
        let peer = try await NGHTTPD.start()
        defer { peer.stop() }
        var options = HTTP2ClientOptions()
        options.idlePingAfter = .milliseconds(150)
        options.stallPingTimeout = .milliseconds(150)
        let client = try await peer.connect(options)
        peer.freeze()
        #expect(await client.wait { $0.isClosed }.isClosing)
        let late = await failure { () throws(HTTP2Error) in try await client.send(.push(), timeout: .seconds(5)) }
        #expect(late?.wasProcessed == .no)
    }

    @Test func `a peer that answers PING but no request is left, its requests in doubt`() async throws {
        let held = Collector<HTTP2Responder>()
        let bed = try await TestBed { request, responder in
            if request.path == "/answer" { responder.respond(status: 200) } else { held.append(responder) }
        }
        var options = HTTP2ClientOptions()
        options.stallAfter = .milliseconds(20)
        options.answerAfter = .milliseconds(200)
        let client = try await bed.connect(options)
        #expect(try await client.send(.push("/answer"), timeout: .seconds(20)).status == 200)
        let results = Collector<Result<HTTP2Response, HTTP2Error>>()
        for _ in 0..<5 { client.send(.push("/hold"), timeout: .seconds(20)) { results.append($0) } }
        for result in await results.wait(for: 5) {
            let error = #expect(throws: HTTP2Error.self) { try result.get() }
            #expect(error?.code == .connectionLost)
            #expect(error?.wasProcessed == .unknown)
        }
        #expect(await client.wait { $0.isClosed }.isClosing)
    }

    @Test func `a slow answer is no stall while the peer answers PING`() async throws {
        let held = Collector<HTTP2Responder>()
        let bed = try await TestBed { _, responder in held.append(responder) }
        var options = HTTP2ClientOptions()
        options.stallAfter = .milliseconds(20)
        options.stallPingTimeout = .milliseconds(2_000)
        let client = try await bed.connect(options)
        let slow = await failure { () throws(HTTP2Error) in try await client.send(.push(), timeout: .milliseconds(300))
        }
        #expect(slow?.code == .timeout)
        try await client.ping(timeout: .seconds(5))
        #expect(client.state.isClosing == false)
        await client.close(drain: .seconds(5))
    }
}
