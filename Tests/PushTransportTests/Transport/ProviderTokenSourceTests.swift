import Kernel
import Signing
import Synchronization
import Testing

@testable import PushTransport

struct ProviderTokenSourceTests {
    /// A source with a clock to turn by hand and a count of its mints.
    private final class Bench: Sendable {
        let start = ContinuousClock.now
        let elapsed = Mutex(Duration.zero)
        let mints = Mutex(0)
        let wallClock = FixedWallClock(Timestamp(milliseconds: 1_790_000_000_000))
        let publicPEM: String
        let key: SigningKey

        init() throws {
            let pair = try ECKey.generateP256()
            publicPEM = pair.publicPEM
            key = try SigningKey(pem: pair.privatePEM, keyID: "KEY1234567")
        }

        var source: ProviderTokenSource {
            ProviderTokenSource(
                key: key,
                teamID: "TEAM123456",
                wallClock: wallClock,
                now: { [self] in start + elapsed.withLock { $0 } },
                onMint: { [self] in mints.withLock { $0 += 1 } }
            )
        }

        var minted: Int { mints.withLock { $0 } }

        func advance(minutes: Int) {
            elapsed.withLock { $0 += .seconds(minutes * 60) }
            wallClock.advance(by: .seconds(minutes * 60))
        }
    }

    @Test func `a token has Apple's form and a good signature`() throws {
        let bench = try Bench()
        let header = try bench.source.current().header
        #expect(header.hasPrefix("bearer "))
        let key = try VerificationKey(pem: bench.publicPEM, keyID: "KEY1234567")
        let jws = try JWSVerifier(keys: [key]).verify(String(header.dropFirst(7)))
        #expect(jws.header == ["alg": "ES256", "kid": "KEY1234567"])
        #expect(jws.payload == ["iss": "TEAM123456", "iat": 1_790_000_000])
    }

    @Test func `one token serves until it is forty minutes old`() throws {
        let bench = try Bench()
        let source = bench.source
        let first = try source.current()
        bench.advance(minutes: 39)
        #expect(try source.current() == first)
        bench.advance(minutes: 1)
        let second = try source.current()
        #expect(second != first)
        #expect(bench.minted == 2)
    }

    @Test func `many senders at once get one new token`() async throws {
        let bench = try Bench()
        let source = bench.source
        _ = try source.current()
        bench.advance(minutes: 41)
        let headers = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<200 { group.addTask { try source.current().header } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(headers.count == 1)
        #expect(bench.minted == 2)
    }

    @Test func `a new connection does not begin with a token that soon changes`() throws {
        let bench = try Bench()
        let source = bench.source
        let first = try source.current()
        bench.advance(minutes: 34)
        #expect(try source.currentForNewConnection() == first)
        bench.advance(minutes: 1)
        #expect(try source.currentForNewConnection() != first)
    }

    @Test func `an expired token is replaced once, whoever complains`() throws {
        let bench = try Bench()
        let source = bench.source
        let first = try source.current()
        bench.advance(minutes: 20)
        for _ in 0..<100 { #expect(try source.renew(refused: first) == .renewed) }
        #expect(bench.minted == 2)
        #expect(try source.current() != first)
    }

    @Test func `a young token is never replaced`() throws {
        let bench = try Bench()
        let source = bench.source
        let first = try source.current()
        bench.advance(minutes: 19)
        #expect(try source.renew(refused: first) == .tooYoung)
        #expect(try source.current() == first)
        #expect(bench.minted == 1)
    }
}
