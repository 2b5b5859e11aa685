import Kernel
import Testing

@testable import Signing

/// Chains of certificates within tokens: what is remembered, and what is checked at every use.
struct ChainTests {
    private static let now = Timestamp(milliseconds: 1_796_000_000_000)

    private func verifier(_ makers: [ChainMaker], clock: any WallClock = FixedWallClock(now)) throws
        -> SignedDataVerifier
    {
        let roots = try makers.map { try X509Certificate(der: $0.root) }
        return SignedDataVerifier(chains: try ChainVerifier(roots: roots, rules: .appStore), clock: clock)
    }

    private func payload(_ moment: Timestamp = now) -> JSONValue {
        ["signedDate": .integer(moment.milliseconds), "a": 1]
    }

    private func refusal(_ verifier: SignedDataVerifier, _ token: String) async -> ChainRefusal? {
        do {
            _ = try await verifier.payload(of: token)
            return nil
        } catch {
            return error as? ChainRefusal
        }
    }

    @Test func `a token under a configured root gives its payload`() async throws {
        let maker = try ChainMaker(now: Self.now)
        let found = try await verifier([maker]).payload(of: try maker.sign(payload()))
        #expect(found["a"] == 1)
    }

    @Test func `the root within the token is never trusted`() async throws {
        let (ours, theirs) = (try ChainMaker(now: Self.now), try ChainMaker(now: Self.now))
        #expect(await refusal(try verifier([ours]), try theirs.sign(payload())) == .chain)
        #expect(await refusal(try verifier([ours, theirs]), try theirs.sign(payload())) == nil)
    }

    @Test func `a remembered chain is checked for the date of every token`() async throws {
        let maker = try ChainMaker(validFor: .seconds(60), now: Self.now)
        let clock = FixedWallClock(Self.now)
        let verifier = try verifier([maker], clock: clock)
        #expect(await refusal(verifier, try maker.sign(payload())) == nil)
        // Two minutes later the certificates have run out: what was signed before is good, what is signed now is not.
        clock.advance(by: .seconds(120))
        #expect(await refusal(verifier, try maker.sign(payload(clock.now))) == .chain)
        #expect(await refusal(verifier, try maker.sign(payload())) == nil)
        #expect(await refusal(verifier, try maker.sign(payload(Self.now - .seconds(2 * 86_400)))) == .chain)
    }

    @Test func `the signature is checked although the chain is remembered`() async throws {
        let maker = try ChainMaker(now: Self.now)
        let verifier = try verifier([maker])
        let token = try maker.sign(payload())
        #expect(await refusal(verifier, token) == nil)
        let parts = token.split(separator: ".").map(String.init)
        let other = Base64URL.encode(payload(Self.now - .seconds(1)).utf8)
        #expect(await refusal(verifier, "\(parts[0]).\(other).\(parts[2])") == .signature)
    }

    @Test func `a signer without its mark is refused`() async throws {
        let maker = try ChainMaker(marksLeaf: false, now: Self.now)
        #expect(await refusal(try verifier([maker]), try maker.sign(payload())) == .chain)
    }

    @Test func `a signed date up to five minutes ahead is accepted`() async throws {
        let maker = try ChainMaker(now: Self.now)
        let verifier = try verifier([maker])
        #expect(await refusal(verifier, try maker.sign(payload(Self.now + .seconds(300)))) == nil)
        #expect(await refusal(verifier, try maker.sign(payload(Self.now + .milliseconds(300_001)))) == .signedDate)
    }

    @Test func `32 chains are remembered for fifteen minutes`() throws {
        let cache = ChainCache()
        let maker = try ChainMaker(now: Self.now)
        let certificates = try maker.x5c.map { try X509Certificate(der: try #require(Base64.decode($0))) }
        let root = try X509Certificate(der: maker.root)
        let chain = try ChainVerifier(roots: [root], rules: .appStore)
            .verify(leaf: certificates[0], intermediate: certificates[1], at: Self.now)
        for number in 0..<40 { cache.store(chain, key: [UInt8(number)], now: Self.now) }
        #expect(cache.count == 32)
        #expect(cache.chain([7], now: Self.now) == nil)
        #expect(cache.chain([8], now: Self.now + .seconds(899)) != nil)
        #expect(cache.chain([8], now: Self.now + .seconds(900)) == nil)
        // A clock that was set back must not keep a chain for longer.
        #expect(cache.chain([9], now: Self.now - .seconds(1)) == nil)
    }

    @Test func `standard base64 has one spelling`() {
        #expect(Base64.decode("AAEC") == [0, 1, 2])
        #expect(Base64.decode("+/8=") == [0xFB, 0xFF])
        #expect(Base64.encode([0xFB, 0xFF]) == "+/8=")
        #expect(Base64.encode([1, 2, 3]) == "AQID")
        for text in ["+/8", "-_8=", "+/9=", "A===", "AA\nEC", "====", "AAE C"] {
            #expect(Base64.decode(text) == nil, "\(text)")
        }
    }
}
