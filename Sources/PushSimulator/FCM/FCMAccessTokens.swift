import Kernel
import Signing
import Synchronization

/// Issues access tokens for assertions and knows them again, as Google's token endpoint does (RFC 7523).
final class FCMAccessTokens: Sendable {
    /// An answer of the token endpoint that is no token (RFC 6749, 5.2).
    struct Refusal: Error, Equatable {
        let error: String
        let description: String
    }

    private struct State {
        var endings: [String: Timestamp] = [:]
        var issued = 0
    }

    private static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    /// An assertion's longest life, and how far its clock may be ahead, in seconds.
    private static let longestLife: Int64 = 3600
    private static let leeway: Int64 = 60
    /// More tokens than a well-behaved test ever gets; the older ones are forgotten.
    private static let limit = 10_000

    private let simulation: FCMSimulation
    private let verifier: JWSVerifier
    private let clock: any WallClock
    private let state = Mutex(State())

    init(_ simulation: FCMSimulation, clock: any WallClock) throws(SigningError) {
        guard simulation.key.algorithm == .rs256, simulation.key.keyID != nil else {
            throw SigningError(.invalidKey, "a service account's key is an RSA key with a key id")
        }
        self.simulation = simulation
        self.clock = clock
        verifier = try JWSVerifier(keys: [simulation.key])
    }

    /// Tokens issued since the start.
    var issued: Int { state.withLock { $0.issued } }

    /// - Parameter audience: this endpoint's own URL.
    func exchange(_ form: [String: String], audience: String) throws(Refusal) -> (token: String, seconds: Int64) {
        guard form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer" else {
            throw Refusal(error: "unsupported_grant_type", description: "Invalid grant_type")
        }
        guard let assertion = form["assertion"] else {
            throw Refusal(error: "invalid_request", description: "Missing assertion")
        }
        let jws: CompactJWS
        do {
            jws = try verifier.verify(assertion)
        } catch {
            throw Refusal(error: "invalid_grant", description: "Invalid JWT Signature.")
        }
        try check(jws.payload, audience: audience)
        let seconds = simulation.tokenLifetime.milliseconds / 1000
        let ending = clock.now + simulation.tokenLifetime
        let token = state.withLock { state in
            state.issued += 1
            if state.endings.count >= Self.limit { state.endings = [:] }
            let token = "ya29.simulated-\(state.issued)"
            state.endings[token] = ending
            return token
        }
        return (token, seconds)
    }

    private func check(_ claims: JSONValue, audience: String) throws(Refusal) {
        func refuse(_ description: String) -> Refusal { Refusal(error: "invalid_grant", description: description) }
        guard claims["iss"]?.stringValue == simulation.clientEmail else { throw refuse("Invalid email or User ID") }
        guard claims["aud"]?.stringValue == audience else { throw refuse("Invalid audience") }
        guard claims["scope"]?.stringValue == Self.scope else {
            throw Refusal(error: "invalid_scope", description: "Invalid scope")
        }
        let now = clock.now.seconds
        guard let issuedAt = claims["iat"]?.integerValue, let ending = claims["exp"]?.integerValue,
            ending - issuedAt > 0, ending - issuedAt <= Self.longestLife, issuedAt <= now + Self.leeway, ending > now
        else { throw refuse("Invalid JWT: iat and exp must be in a reasonable timeframe") }
    }

    /// Whether the header carries a token that is still good.
    func accepts(authorization: String?) -> Bool {
        guard let authorization, authorization.hasPrefix("Bearer ") else { return false }
        let token = String(authorization.dropFirst("Bearer ".count))
        let now = clock.now
        return state.withLock { $0.endings[token] }.map { now < $0 } ?? false
    }

    /// Ends every token, as when an account's key is replaced.
    func revokeAll() {
        state.withLock { $0.endings = [:] }
    }
}
