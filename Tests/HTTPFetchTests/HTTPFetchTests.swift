import Foundation
import HTTPServer
import Kernel
import Observability
import Testing

@testable import HTTPFetch

/// The client against a real server on the loopback.
@Suite(.serialized)
struct HTTPFetchTests {
    @Test func `an answer comes with its status, headers and body`() async throws {
        try await FetchBench.run { bench in
            try await bench.client { client in
                let response = try await client.send(
                    FetchRequest(.get, bench.base + "/hello", headers: [("X-Extra", "more")])
                )
                #expect(response.status == 200)
                #expect(response.body == Array("hello".utf8))
                #expect(response.header("x-answer") == "yes")
                #expect(bench.seen.all == ["/hello varsel more"])
                let missing = try await client.send(FetchRequest(.get, bench.base + "/missing"))
                #expect(missing.status == 404)
                #expect(try missing.json()["status"] == 404)
                let busy = try await client.send(FetchRequest(.get, bench.base + "/later"))
                #expect(busy.retryAfter == .seconds(7))
            }
            #expect(bench.count("2xx") == 1 && bench.count("4xx") == 1 && bench.count("5xx") == 1)
        }
    }

    @Test func `a body is sent byte for byte, without asking first`() async throws {
        try await FetchBench.run { bench in
            try await bench.client { client in
                let bytes = (0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
                let request = FetchRequest(
                    .post,
                    bench.base + "/echo",
                    headers: [("content-type", "application/x-test")],
                    body: bytes
                )
                await #expect(throws: FetchError.self) { _ = try await client.send(request) }
                let small = FetchRequest(.post, bench.base + "/echo", headers: request.headers, body: [0, 255, 10, 0])
                let response = try await client.send(small)
                #expect(response.status == 201)
                #expect(response.body == [0, 255, 10, 0])
                #expect(bench.seen.all.last == "/echo application/x-test ")
            }
            try await bench.client({ $0.bodyLimit = 4_000_000 }) { client in
                let bytes = (0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
                let response = try await client.send(FetchRequest(.post, bench.base + "/echo", body: bytes))
                #expect(response.body == bytes)
            }
        }
    }

    @Test func `a form is encoded`() {
        let form = FetchRequest.form("https://a/", [("grant_type", "urn:a:b"), ("x", "ä &=+")])
        #expect(String(decoding: form.body, as: UTF8.self) == "grant_type=urn%3Aa%3Ab&x=%C3%A4%20%26%3D%2B")
    }

    @Test func `what is larger than allowed ends the request`() async throws {
        try await FetchBench.run { bench in
            let exact = try await bench.failure(FetchRequest(.get, bench.base + "/bytes/1000")) { $0.bodyLimit = 1000 }
            #expect(exact == nil)
            let over = try await bench.failure(FetchRequest(.get, bench.base + "/bytes/1001")) { $0.bodyLimit = 1000 }
            #expect(over?.code == .responseTooLarge)
            let head = try await bench.failure(FetchRequest(.get, bench.base + "/hello")) { $0.headLimit = 40 }
            #expect(head?.code == .responseTooLarge)
        }
    }

    @Test func `redirects are answers, unless they are asked for`() async throws {
        try await FetchBench.run { bench in
            try await bench.client { client in
                let response = try await client.send(FetchRequest(.get, bench.base + "/elsewhere"))
                #expect(response.status == 302)
                #expect(response.header("location") == "/hello")
            }
            try await bench.client({ options in
                options.redirects = 2
                options.plainHTTP = .anywhere
            }) { client in
                let response = try await client.send(FetchRequest(.get, bench.base + "/elsewhere"))
                #expect(response.status == 200)
                #expect(response.header("location") == nil)
                #expect(response.body == Array("hello".utf8))
            }
            let round = try await bench.failure(FetchRequest(.get, bench.base + "/round")) { options in
                options.redirects = 2
                options.plainHTTP = .anywhere
            }
            #expect(round?.code == .tooManyRedirects)
        }
    }

    @Test func `a redirect never leads to plain HTTP outside of what is allowed`() async throws {
        try await FetchBench.run { bench in
            let error = try await bench.failure(FetchRequest(.get, bench.base + "/elsewhere")) { $0.redirects = 2 }
            #expect(error?.code == .schemeNotAllowed)
        }
    }

    @Test func `plain HTTP needs permission`() async throws {
        try await FetchBench.run { bench in
            let request = FetchRequest(.get, bench.base + "/hello")
            let plain = try await bench.failure(request) { $0.plainHTTP = .nowhere }
            #expect(plain?.code == .schemeNotAllowed)
            let local = try await bench.failure(request) { $0.plainHTTP = .loopback }
            #expect(local == nil)
            let abroad = try await bench.failure(FetchRequest(.get, "http://192.0.2.1/"))
            #expect(abroad?.code == .schemeNotAllowed)
            #expect(bench.seen.all.count == 1)
        }
    }

    @Test(arguments: [
        "", "hello", "/path", "ftp://127.0.0.1/", "file:///etc/passwd", "https://", "https://a b/",
        "https://u:p@127.0.0.1/",
        "https://127.0.0.1:0/", "https://127.0.0.1:99999/", "https://a\u{0}b/", "http://127.0.0.1\\@example.com/",
        "http://[::1/", "https://ä.example/",
    ])
    func `a URL that is none is refused`(_ url: String) async throws {
        try await FetchBench.run { bench in
            let error = try await bench.failure(FetchRequest(.get, url))
            #expect(error?.code == .invalidRequest)
        }
    }

    @Test(arguments: [("a b", "x"), ("", "x"), ("x", "a\r\nb: c"), ("x", "a\u{0}b"), ("x:y", "z")])
    func `a header that could become two is refused`(_ name: String, _ value: String) async throws {
        try await FetchBench.run { bench in
            let request = FetchRequest(.get, bench.base + "/hello", headers: [(name, value)])
            let error = try await bench.failure(request)
            #expect(error?.code == .invalidRequest)
            #expect(bench.seen.all.isEmpty)
        }
    }

    @Test func `private addresses are refused after the name was looked up`() async throws {
        try await FetchBench.run { bench in
            for host in ["127.0.0.1", "localhost"] {
                let request = FetchRequest(.get, "http://\(host):\(bench.server.port)/hello")
                let error = try await bench.failure(request) { $0.refusesPrivateAddresses = true }
                #expect(error?.code == .addressNotAllowed)
                #expect(error?.mayHaveBeenProcessed == false)
            }
            #expect(bench.seen.all.isEmpty)
        }
    }

    @Test func `nobody at the address is told from a name without one`() async throws {
        try await FetchBench.run { bench in
            let port = bench.server.port
            await bench.server.stop(deadline: .seconds(1))
            let refused = try await bench.failure(FetchRequest(.get, "http://127.0.0.1:\(port)/"))
            #expect(refused?.code == .connectFailed)
            #expect(refused?.mayHaveBeenProcessed == false)
            let unknown = try await bench.failure(FetchRequest(.get, "https://no-such-host.invalid/"))
            #expect(unknown?.code == .resolveFailed)
        }
    }

    @Test func `a request ends at its deadline`() async throws {
        try await FetchBench.run { bench in
            let request = FetchRequest(.get, bench.base + "/wait", timeout: .milliseconds(200))
            let error = try await bench.failure(request)
            #expect(error?.code == .timeout)
            #expect(error?.mayHaveBeenProcessed == true)
            #expect(bench.count("timeout") == 1)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `as many run as allowed, as many wait as allowed, the rest is refused`() async throws {
        try await FetchBench.run { bench in
            try await bench.client({ options in
                options.concurrency = 2
                options.waitingLimit = 3
            }) { client in
                let tasks = (0..<2).map { _ in Task { try await client.send(FetchRequest(.get, bench.base + "/wait")) }
                }
                while bench.seen.all.count < 2 { try await Task.sleep(for: .milliseconds(5)) }
                let results = await withTaskGroup(of: Result<Int, any Error>.self) { group in
                    for _ in 0..<10 {
                        group.addTask {
                            await Result { try await client.send(FetchRequest(.get, bench.base + "/hello")).status }
                        }
                    }
                    var results: [Result<Int, any Error>] = []
                    // The refused ones come back while the others are still held.
                    for await result in group {
                        results.append(result)
                        if results.count == 7 { bench.gate.open() }
                    }
                    return results
                }
                #expect(results.count { (try? $0.get()) == 200 } == 3)
                for result in results {
                    if case .failure(let error) = result { #expect((error as? FetchError)?.code == .queueFull) }
                }
                for task in tasks { #expect(try await task.value.status == 200) }
                #expect(bench.seen.all.count { $0 == "/wait" } == 2)
            }
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `cancelling breaks off what runs and what waits`() async throws {
        try await FetchBench.run { bench in
            try await bench.client({ $0.concurrency = 1 }) { client in
                let running = Task { try await client.send(FetchRequest(.get, bench.base + "/wait")) }
                while bench.seen.all.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
                let waiting = Task { try await client.send(FetchRequest(.get, bench.base + "/hello")) }
                waiting.cancel()
                await #expect(throws: FetchError.cancelled) { try await waiting.value }
                running.cancel()
                await #expect(throws: FetchError.cancelled) { try await running.value }
                // The place is free again.
                let next = try await client.send(FetchRequest(.get, bench.base + "/hello"))
                #expect(next.status == 200)
            }
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `closing ends what is under way, and later requests are refused`() async throws {
        try await FetchBench.run { bench in
            try await bench.client { client in
                let running = Task { try await client.send(FetchRequest(.get, bench.base + "/wait")) }
                while bench.seen.all.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
                await client.close()
                await #expect(throws: FetchError.closed) { try await running.value }
                await #expect(throws: FetchError.closed) {
                    try await client.send(FetchRequest(.get, bench.base + "/hello"))
                }
            }
        }
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
