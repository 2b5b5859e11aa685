import Dispatch
import HTTP2
import Kernel
import Observability
import Testing

@Suite(.timeLimit(.minutes(1)))
struct StreamLimitTests {
    @Test func `the peer's limit is followed from one stream up and down again`() async throws {
        let held = Collector<HTTP2Responder>()
        var serverOptions = HTTP2ServerOptions()
        serverOptions.maxConcurrentStreams = 1
        let bed = try await TestBed(options: serverOptions) { _, responder in held.append(responder) }
        let client = try await bed.connect()
        #expect(client.state.settingsReceived)
        #expect(client.state.peerMaxConcurrentStreams == 1)

        let answers = Collector<Result<HTTP2Response, HTTP2Error>>()
        client.send(.push(), timeout: .seconds(20)) { answers.append($0) }
        let second = await failure { () throws(HTTP2Error) in try await client.send(.push(), timeout: .seconds(5)) }
        #expect(second?.code == .tooManyStreams)
        #expect(second?.wasProcessed == .no)

        let first = await held.wait(for: 1)[0]
        first.setMaxConcurrentStreams(100)
        #expect(await client.wait { $0.peerMaxConcurrentStreams == 100 }.activeStreams == 1)
        for _ in 0..<50 { client.send(.push(), timeout: .seconds(20)) { answers.append($0) } }
        let responders = await held.wait(for: 51)

        first.setMaxConcurrentStreams(1)
        #expect(await client.wait { $0.peerMaxConcurrentStreams == 1 }.activeStreams == 51)
        let late = await failure { () throws(HTTP2Error) in try await client.send(.push(), timeout: .seconds(5)) }
        #expect(late?.code == .tooManyStreams)
        for responder in responders { responder.respond(status: 200) }
        #expect(await answers.wait(for: 51).allSatisfy { (try? $0.get().status) == 200 })
        #expect(client.state.activeStreams == 0)
        #expect(client.state.isClosing == false)
        await client.close(drain: .seconds(5))
    }

    @Test func `a completion may send the next request on the only stream`() async throws {
        var serverOptions = HTTP2ServerOptions()
        serverOptions.maxConcurrentStreams = 1
        let bed = try await TestBed(options: serverOptions) { _, responder in responder.respond(status: 200) }
        let client = try await bed.connect()
        let results = Collector<Result<HTTP2Response, HTTP2Error>>()
        @Sendable func next(_ left: Int) {
            client.send(.push(), timeout: .seconds(10)) { result in
                results.append(result)
                if left > 1 { next(left - 1) }
            }
        }
        next(20)
        #expect(await results.wait(for: 20).allSatisfy { (try? $0.get().status) == 200 })
        await client.close(drain: .seconds(5))
    }

    @Test func `our own limit holds where the peer allows more`() async throws {
        let bed = try await TestBed { _, _ in }
        var options = HTTP2ClientOptions()
        options.maxConcurrentStreams = 3
        let client = try await bed.connect(options)
        let results = Collector<Result<HTTP2Response, HTTP2Error>>()
        for _ in 0..<4 { client.send(.push(), timeout: .seconds(30)) { results.append($0) } }
        let error = #expect(throws: HTTP2Error.self) { try results.elements.first?.get() }
        #expect(error?.code == .tooManyStreams)
        #expect(results.elements.count == 1)
        await client.close(drain: .zero)
        #expect(results.elements.count == 4)
    }

    @Test func `bytes that wait are limited`() async throws {
        let bed = try await TestBed { _, responder in responder.respond(status: 200) }
        var options = HTTP2ClientOptions()
        options.maxQueuedBytes = 1_000
        let client = try await bed.connect(options)
        let (entered, leave) = (Collector<Bool>(), DispatchSemaphore(value: 0))
        // Holds the connection's thread, so that nothing is taken from the queue.
        client.send(.push(), timeout: .seconds(10)) { _ in
            entered.append(true)
            leave.wait()
        }
        await entered.wait(for: 1)
        let results = Collector<Result<HTTP2Response, HTTP2Error>>()
        let body = [UInt8](repeating: 1, count: 600)
        for _ in 0..<2 { client.send(.push(body: body), timeout: .seconds(10)) { results.append($0) } }
        let error = #expect(throws: HTTP2Error.self) { try results.elements.first?.get() }
        #expect(error?.code == .queueFull)
        leave.signal()
        #expect(await results.wait(for: 2).contains { (try? $0.get().status) == 200 })
        await client.close(drain: .seconds(5))
    }
}
