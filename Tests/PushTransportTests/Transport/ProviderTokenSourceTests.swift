import Kernel
import Observability
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
        let log = MemorySink()
        let publicPEM: String
        let key: SigningKey

        init() throws {
            let pair = try ECKey.generateP256()
            publicPEM = pair.publicPEM
            key = try SigningKey(pem: pair.privatePEM, keyID: "KEY1234567")
        }

        var source: ProviderTokenSource { source(sharing: nil) }

        var now: ContinuousClock.Instant { start + elapsed.withLock { $0 } }

        func source(sharing vault: (any ProviderTokenVault)?) -> ProviderTokenSource {
            ProviderTokenSource(
                key: key,
                teamID: "TEAM123456",
                vault: vault,
                wallClock: wallClock,
                now: { [self] in now },
                logger: Logger(service: "test", sink: log),
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
        for _ in 0..<100 { #expect(try source.renew(refusedGeneration: first.generation) == .renewed) }
        #expect(bench.minted == 2)
        #expect(try source.current() != first)
    }

    @Test func `a young token is never replaced`() throws {
        let bench = try Bench()
        let source = bench.source
        let first = try source.current()
        bench.advance(minutes: 19)
        #expect(try source.renew(refusedGeneration: first.generation) == .tooYoung)
        #expect(try source.current() == first)
        #expect(bench.minted == 1)
    }

    // MARK: Shared with others

    /// A vault in memory, on the bench's clock.
    private final class MemoryVault: ProviderTokenVault {
        private struct Away: Error {}
        private let lying = Mutex<(sealed: [UInt8], until: ContinuousClock.Instant, lifetime: Duration)?>(nil)
        let isAway = Mutex(false)
        private let now: @Sendable () -> ContinuousClock.Instant

        init(now: @escaping @Sendable () -> ContinuousClock.Instant) {
            self.now = now
        }

        func settle(
            _ name: String,
            candidate: [UInt8],
            replacing: [UInt8]?,
            lifetime: Duration
        ) async throws -> (sealed: [UInt8], age: Duration) {
            if isAway.withLock({ $0 }) { throw Away() }
            let moment = now()
            return lying.withLock { lying in
                if let known = lying, known.until > moment, known.sealed != replacing {
                    return (known.sealed, known.lifetime - (known.until - moment))
                }
                lying = (candidate, moment + lifetime, lifetime)
                return (candidate, .zero)
            }
        }
    }

    @Test func `a fleet sends with one token, and a process that starts again takes it over`() async throws {
        let bench = try Bench()
        let vault = MemoryVault { bench.now }
        var headers: Set<String> = []
        for _ in 0..<10 {
            let source = bench.source(sharing: vault)
            await source.prepare()
            headers.insert(try source.currentForNewConnection().header)
            bench.advance(minutes: 1)
        }
        #expect(headers.count == 1)
        #expect(bench.minted == 1)
    }

    @Test func `two processes renew together, once`() async throws {
        let bench = try Bench()
        let vault = MemoryVault { bench.now }
        let sources = [bench.source(sharing: vault), bench.source(sharing: vault)]
        for source in sources { await source.prepare() }
        let first = try sources[0].current().header
        bench.advance(minutes: 40)
        for source in sources { await source.prepare() }
        let second = try sources.map { try $0.current().header }
        #expect(second[0] == second[1])
        #expect(second[0] != first)
        #expect(bench.minted == 2)
    }

    @Test func `a shared token that is called expired is replaced once, and never when it is young`() async throws {
        let bench = try Bench()
        let vault = MemoryVault { bench.now }
        let sources = [bench.source(sharing: vault), bench.source(sharing: vault)]
        await sources[0].prepare()
        bench.advance(minutes: 19)
        await sources[1].prepare()
        let refused = try sources.map { try $0.current() }
        #expect(refused[0].header == refused[1].header)
        // Its age counts from its minting, also where it was taken over just now.
        #expect(try sources[1].renew(refusedGeneration: refused[1].generation) == .tooYoung)
        bench.advance(minutes: 2)
        for (source, token) in zip(sources, refused) {
            #expect(try source.renew(refusedGeneration: token.generation) == .renewed)
            await source.prepare()
        }
        let renewed = try sources.map { try $0.currentForNewConnection().header }
        #expect(renewed[0] == renewed[1])
        #expect(renewed[0] != refused[0].header)
        #expect(bench.minted == 2)
    }

    @Test func `without its vault a process goes on with a token of its own`() async throws {
        let bench = try Bench()
        let vault = MemoryVault { bench.now }
        vault.isAway.withLock { $0 = true }
        let source = bench.source(sharing: vault)
        await source.prepare()
        let own = try source.current().header
        #expect(bench.minted == 1)
        #expect(bench.log.lines.contains { $0.contains("out of reach") })
        #expect(!bench.log.lines.contains { $0.contains(own.dropFirst(7)) })
        bench.advance(minutes: 41)
        await source.prepare()
        #expect(try source.current().header != own)
        #expect(bench.minted == 2)
    }

    @Test func `nobody without the key can read or forge the shared token`() throws {
        let bench = try Bench()
        let seal = ProviderTokenSeal(key: bench.key, teamID: "TEAM123456")
        let sealed = try seal.seal("bearer secret")
        #expect(try seal.open(sealed) == "bearer secret")
        #expect(!String(decoding: sealed, as: UTF8.self).contains("secret"))
        let other = try SigningKey(pem: ECKey.generateP256().privatePEM, keyID: "KEY1234567")
        #expect(throws: SigningError.self) { try ProviderTokenSeal(key: other, teamID: "TEAM123456").open(sealed) }
        #expect(throws: SigningError.self) { try ProviderTokenSeal(key: bench.key, teamID: "OTHER12345").open(sealed) }
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(throws: SigningError.self) { try seal.open(changed) }
        }
    }

    @Test func `five hundred signatures all have their full length`() throws {
        let bench = try Bench()
        let message = Array("header.claims".utf8)
        for _ in 0..<500 { #expect(try bench.key.sign(message).count == 64) }
    }
}
