import HTTP2
import Kernel
import Observability
import Testing

@Suite(.timeLimit(.minutes(1)))
struct CloseTests {
    @Test func `closing waits for the requests under way and takes no new ones`() async throws {
        let held = Collector<HTTP2Responder>()
        let bed = try await TestBed { _, responder in held.append(responder) }
        let client = try await bed.connect()
        let results = Collector<Result<HTTP2Response, HTTP2Error>>()
        client.send(.push(), timeout: .seconds(20)) { results.append($0) }
        let responder = await held.wait(for: 1)[0]
        let closing = Task { await client.close(drain: .seconds(20)) }
        _ = await client.wait { $0.isClosing }
        let late = await failure { () throws(HTTP2Error) in try await client.send(.push(), timeout: .seconds(5)) }
        #expect(late?.code == .closing)
        #expect(late?.wasProcessed == .no)
        responder.respond(status: 200)
        await closing.value
        #expect(try results.elements.first?.get().status == 200)
        #expect(client.state.isClosed)
        await client.close(drain: .seconds(20))
    }

    @Test func `what is not answered when the drain is over stays open to doubt`() async throws {
        let held = Collector<HTTP2Responder>()
        let bed = try await TestBed { _, responder in held.append(responder) }
        let client = try await bed.connect()
        let results = Collector<Result<HTTP2Response, HTTP2Error>>()
        client.send(.push(), timeout: .seconds(20)) { results.append($0) }
        await held.wait(for: 1)
        await client.close(drain: .milliseconds(30))
        let error = #expect(throws: HTTP2Error.self) { try results.elements.first?.get() }
        #expect(error?.code == .closing)
        #expect(error?.wasProcessed == .unknown)
    }

    @Test func `a connection that nobody holds any more closes itself`() async throws {
        let closed = Collector<Int>()
        let bed = try await TestBed(handler: Watcher(closed: closed))
        var client: HTTP2ClientConnection? = try await bed.connect()
        #expect(client?.state.isClosed == false)
        client = nil
        await closed.wait(for: 1)
    }

    @Test func `a server that stops says so`() async throws {
        let bed = try await TestBed { _, responder in responder.respond(status: 200) }
        let client = try await bed.connect()
        #expect(try await client.send(.push(), timeout: .seconds(5)).status == 200)
        await bed.server.stop()
        let state = await client.wait { $0.isClosed }
        #expect(state.goAwayReason == "NO_ERROR")
    }

    private struct Watcher: HTTP2ServerHandler {
        let closed: Collector<Int>

        func handle(_ request: HTTP2ServerRequest, respond: HTTP2Responder) {}

        func connectionClosed(_ connectionID: Int) {
            closed.append(connectionID)
        }
    }
}
