package import Kernel

/// Says whether the certificates of a verified path are still good. Asked once for each entry of the chain cache.
package protocol RevocationChecking: Sendable {
    /// - Throws: `ChainRefusal.revoked` when one is not, any other error when nobody could be asked.
    func check(_ chain: VerifiedChain) async throws
}

/// Verifies compact JWS that bring the chain of their signer (`x5c`), as the App Store sends them.
///
/// A path that was verified is remembered for fifteen minutes; its dates and marks are checked at every use.
package final class SignedDataVerifier: Sendable {
    /// Signed dates may lie so far ahead of our clock.
    package static let leeway = Duration.seconds(5 * 60)
    /// A notification holds two tokens, and each brings three certificates.
    private static let limits = CompactJWS.Limits(
        size: 256 * 1024,
        header: 64 * 1024,
        json: JSONLimits(depth: 32, values: 20_000)
    )

    private let chains: ChainVerifier
    private let revocation: (any RevocationChecking)?
    private let clock: any WallClock
    private let cache = ChainCache()

    /// - Parameter revocation: asked for every new path; certificates must then be valid now, not only when something was signed.
    package init(chains: ChainVerifier, revocation: (any RevocationChecking)? = nil, clock: any WallClock) {
        self.chains = chains
        self.revocation = revocation
        self.clock = clock
    }

    /// The payload of a token whose signature and chain hold.
    /// - Throws: `ChainRefusal`, or what the revocation check throws when nobody could be asked.
    package func payload(of token: String) async throws -> JSONValue {
        let jws = try Self.parsed(token)
        let (leaf, intermediate) = try Self.certificates(of: jws.header)
        let now = clock.now
        let signedAt = try signedDate(of: jws.payload, now: now)
        let moment = revocation == nil ? signedAt : now
        let key = ChainCache.key(leaf: leaf, intermediate: intermediate)
        let chain: VerifiedChain
        if let known = cache.chain(key, now: now) {
            guard known.holds(at: moment, rules: chains.rules) else { throw ChainRefusal.chain }
            chain = known
        } else {
            chain = try chains.verify(
                leaf: try Self.certificate(leaf),
                intermediate: try Self.certificate(intermediate),
                at: moment
            )
            try await revocation?.check(chain)
            cache.store(chain, key: key, now: now)
        }
        guard chain.key.verifies(jws.signature, of: jws.signingInput) else { throw ChainRefusal.signature }
        return jws.payload
    }

    private static func parsed(_ token: String) throws(ChainRefusal) -> CompactJWS {
        do {
            return try CompactJWS(token, limits: limits)
        } catch {
            throw .malformed
        }
    }

    private static func certificate(_ der: [UInt8]) throws(ChainRefusal) -> X509Certificate {
        do {
            return try X509Certificate(der: der)
        } catch {
            throw .certificate
        }
    }

    /// Signer and intermediate as DER. The third place is the sender's own idea of a root and only has to be a text.
    private static func certificates(of header: JSONValue) throws(ChainRefusal) -> ([UInt8], [UInt8]) {
        guard header["alg"]?.stringValue == "ES256", header["crit"] == nil, header["b64"] == nil,
            header["kid"] == nil || header["kid"]?.stringValue != nil
        else { throw .header }
        guard let list = header["x5c"]?.arrayValue, list.count == 3, list[2].stringValue != nil else {
            throw .chainLength
        }
        guard let leaf = list[0].stringValue.flatMap(Base64.decode),
            let intermediate = list[1].stringValue.flatMap(Base64.decode)
        else { throw .certificate }
        return (leaf, intermediate)
    }

    private func signedDate(of payload: JSONValue, now: Timestamp) throws(ChainRefusal) -> Timestamp {
        // A number written as text or with a fraction is none: one spelling for what decides on validity.
        guard case .number(let number)? = payload["signedDate"], let milliseconds = Int64(number.text),
            milliseconds >= 0,
            milliseconds <= (now + Self.leeway).milliseconds
        else { throw .signedDate }
        return Timestamp(milliseconds: milliseconds)
    }
}
