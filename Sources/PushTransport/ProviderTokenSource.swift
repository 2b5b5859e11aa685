import Kernel
import Signing
import Synchronization

/// A provider token as it is sent.
struct ProviderToken: Sendable, Equatable {
    /// The `authorization` header's value.
    let header: String
    /// Counts the tokens of this source.
    let generation: Int
}

/// Mints the provider token of one team and key, for all connections of the process.
///
/// Apple wants a new one no more often than every 20 minutes and no less often than every 60. Age is measured on a monotonic
/// clock, so that a step of the wall clock neither mints in a row nor forgets to mint.
final class ProviderTokenSource: Sendable {
    /// The age at which a new token is minted.
    static let renewalAge = Duration.seconds(40 * 60)
    /// The age at which a new connection starts with a new token.
    private static let newConnectionAge = Duration.seconds(35 * 60)
    /// No token is replaced below this age, whatever the server says.
    static let minimumAge = Duration.seconds(20 * 60)

    /// What asking for a new token after a refusal brought.
    enum Renewal: Equatable {
        /// The current token is not the refused one.
        case renewed
        /// The refused token is too young to be replaced, so it is not age that is wrong: a clock is.
        case tooYoung
    }

    private struct State {
        var current: ProviderToken?
        var mintedAt: ContinuousClock.Instant?
    }

    private let key: SigningKey
    private let teamID: String
    private let wallClock: any WallClock
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex(State())
    private let onMint: @Sendable () -> Void

    init(
        key: SigningKey,
        teamID: String,
        wallClock: any WallClock,
        now: @escaping @Sendable () -> ContinuousClock.Instant,
        onMint: @escaping @Sendable () -> Void
    ) {
        self.key = key
        self.teamID = teamID
        self.wallClock = wallClock
        self.now = now
        self.onMint = onMint
    }

    /// The token to send with. Minting happens under the lock, so many callers get one token.
    /// - Throws: when OpenSSL cannot sign.
    func current() throws(SigningError) -> ProviderToken {
        try locked { state throws(SigningError) in
            if let token = state.current, let mintedAt = state.mintedAt, now() - mintedAt < Self.renewalAge {
                return token
            }
            return try mint(&state)
        }
    }

    /// The token for a connection that has none yet. It is replaced a little earlier than on connections in use, so that it
    /// lasts for the 20 minutes in which the connection may not change it.
    func currentForNewConnection() throws(SigningError) -> ProviderToken {
        try locked { state throws(SigningError) in
            if let token = state.current, let mintedAt = state.mintedAt, now() - mintedAt < Self.newConnectionAge {
                return token
            }
            return try mint(&state)
        }
    }

    /// Replaces a token that the server called expired, if it still is the current one and old enough.
    func renew(refused: ProviderToken) throws(SigningError) -> Renewal {
        try locked { state throws(SigningError) in
            guard let token = state.current, let mintedAt = state.mintedAt, token == refused else { return .renewed }
            guard now() - mintedAt >= Self.minimumAge else { return .tooYoung }
            _ = try mint(&state)
            return .renewed
        }
    }

    private func mint(_ state: inout State) throws(SigningError) -> ProviderToken {
        let claims: JSONValue = ["iss": .string(teamID), "iat": .integer(wallClock.now.seconds)]
        let text = try JWTSigner.sign(claims: claims, key: key)
        let token = ProviderToken(header: "bearer " + text, generation: (state.current?.generation ?? 0) + 1)
        state.current = token
        state.mintedAt = now()
        onMint()
        return token
    }

    /// `Mutex.withLock` does not carry a typed error out under all settings, a result does.
    private func locked<Value: Sendable>(
        _ body: (inout State) throws(SigningError) -> Value
    ) throws(SigningError) -> Value {
        try state.withLock { state -> Result<Value, SigningError> in
            do throws(SigningError) {
                return .success(try body(&state))
            } catch {
                return .failure(error)
            }
        }.get()
    }
}
