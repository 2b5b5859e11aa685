import Kernel
import Signing
import Synchronization

/// A provider token whose signature and form are good. Its age is judged anew with every request.
struct ProviderTokenFacts: Sendable, Equatable {
    let keyID: String
    let teamID: String
    /// Seconds since 1970.
    let issuedAt: Int64
}

/// Verifies provider tokens (Apple, "Establishing a token-based connection to APNs").
final class ProviderTokenJudge: Sendable {
    /// Apple accepts a token whose `iat` is at most an hour away, in either direction.
    private static let validity: Int64 = 3600
    /// Verified tokens that are remembered: a signature check takes a hundred times longer than the rest of a request.
    private static let cacheLimit = 64

    private let verifier: JWSVerifier
    private let teams: [String: String]
    private let isLenient: Bool
    private let cache = Mutex<[String: ProviderTokenFacts]>([:])

    /// - Throws: when two credentials share a key id, or one has none.
    /// - Parameter isLenient: also takes padded base64 in the standard alphabet, as Apple has been seen to do.
    init(credentials: [SimulatorConfiguration.Credential], isLenient: Bool = false) throws(SigningError) {
        self.isLenient = isLenient
        var teams: [String: String] = [:]
        for credential in credentials {
            guard let keyID = credential.key.keyID, credential.key.algorithm == .es256 else {
                throw SigningError(.invalidKey, "an APNs credential is a P-256 key with a key id")
            }
            teams[keyID] = credential.teamID
        }
        self.teams = teams
        verifier = try JWSVerifier(keys: credentials.map(\.key))
    }

    /// - Parameter authorization: the header's value, `bearer <token>`.
    /// - Throws: Apple's reason to refuse.
    func judge(_ authorization: String?, now: Timestamp) throws(APNsRefusal) -> (
        text: String, facts: ProviderTokenFacts
    ) {
        guard let authorization else { throw .missingProviderToken }
        guard authorization.hasPrefix("bearer ") || isLenient && authorization.hasPrefix("Bearer ") else {
            throw .invalidProviderToken
        }
        let given = String(authorization.dropFirst("bearer ".count))
        let text = isLenient ? Self.urlSafe(given) : given
        let facts = try facts(of: text)
        guard abs(now.seconds - facts.issuedAt) <= Self.validity else { throw .expiredProviderToken }
        return (text, facts)
    }

    /// The text in the alphabet of JWS, without padding.
    private static func urlSafe(_ text: String) -> String {
        String(text.filter { $0 != "=" }.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
    }

    private func facts(of text: String) throws(APNsRefusal) -> ProviderTokenFacts {
        if let known = cache.withLock({ $0[text] }) { return known }
        let jws: CompactJWS
        do {
            jws = try verifier.verify(text)
        } catch {
            throw .invalidProviderToken
        }
        guard let keyID = jws.header["kid"]?.stringValue, let issuer = jws.payload["iss"]?.stringValue,
            teams[keyID] == issuer, let issuedAt = jws.payload["iat"]?.integerValue
        else { throw .invalidProviderToken }
        let facts = ProviderTokenFacts(keyID: keyID, teamID: issuer, issuedAt: issuedAt)
        cache.withLock { cache in
            if cache.count >= Self.cacheLimit { cache.removeAll() }
            cache[text] = facts
        }
        return facts
    }
}
