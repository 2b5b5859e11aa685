import Kernel
import Observability
import Signing
import Synchronization

/// A provider token as it is sent.
struct ProviderToken: Sendable, Equatable {
    /// The `authorization` header's value.
    let header: String
    /// Counts the tokens of this source.
    let generation: Int
}

/// Mints the provider token of one team and key, for all connections of the process, or takes over the one that the fleet
/// shares through a vault.
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
    /// The pause after a vault did not answer.
    private static let vaultPause = Duration.seconds(30)

    /// What asking for a new token after a refusal brought.
    enum Renewal: Equatable {
        /// The current token is not the refused one, or will be replaced before the next connection.
        case renewed
        /// The refused token is too young to be replaced, so it is not age that is wrong: a clock is.
        case tooYoung
    }

    private struct State {
        var current: ProviderToken?
        var mintedAt: ContinuousClock.Instant?
        /// The current token as it lies in the vault.
        var sealed: [UInt8]?
        /// The server called the current token expired.
        var isRefused = false
        var exchange: Task<Void, Never>?
        var vaultTriedAt: ContinuousClock.Instant?
    }

    private let key: SigningKey
    private let teamID: String
    private let wallClock: any WallClock
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex(State())
    private let onMint: @Sendable () -> Void
    private let vault: (any ProviderTokenVault)?
    private let seal: ProviderTokenSeal
    private let logger: Logger

    init(
        key: SigningKey,
        teamID: String,
        vault: (any ProviderTokenVault)? = nil,
        wallClock: any WallClock,
        now: @escaping @Sendable () -> ContinuousClock.Instant,
        logger: Logger,
        onMint: @escaping @Sendable () -> Void
    ) {
        self.key = key
        self.teamID = teamID
        self.vault = vault
        self.wallClock = wallClock
        self.now = now
        self.logger = logger
        self.onMint = onMint
        seal = ProviderTokenSeal(key: key, teamID: teamID)
    }

    /// The token to send with. Minting happens under the lock, so many callers get one token; with a vault the next token is
    /// fetched beside, and the present one, good for 20 minutes more, goes on serving meanwhile.
    /// - Throws: when OpenSSL cannot sign.
    func current() throws(SigningError) -> ProviderToken {
        try token(youngerThan: Self.renewalAge)
    }

    /// The token for a connection that has none yet: renewed a little earlier than on connections in use, so that it
    /// lasts for the 20 minutes in which the connection may not change it.
    func currentForNewConnection() throws(SigningError) -> ProviderToken {
        try token(youngerThan: Self.newConnectionAge)
    }

    /// Replaces a token that the server called expired, if it still is the current one and old enough.
    /// - Parameter refused: the refused token's generation.
    func renew(refusedGeneration refused: Int) throws(SigningError) -> Renewal {
        try locked { state throws(SigningError) in
            guard let token = state.current, let mintedAt = state.mintedAt, token.generation == refused else {
                return .renewed
            }
            guard now() - mintedAt >= Self.minimumAge else { return .tooYoung }
            if vault == nil {
                _ = try mint(&state)
            } else {
                state.isRefused = true
            }
            return .renewed
        }
    }

    /// Sees to it that a new connection begins with the fleet's token. Returns at once where there is nothing to ask for.
    func prepare() async {
        guard vault != nil else { return }
        let exchange = state.withLock { state -> Task<Void, Never>? in
            let isFit = age(state).map { $0 < Self.newConnectionAge } ?? false
            return isFit && !state.isRefused ? nil : startExchange(&state)
        }
        await exchange?.value
    }

    private func token(youngerThan limit: Duration) throws(SigningError) -> ProviderToken {
        try locked { state throws(SigningError) in
            guard let token = state.current, let age = age(state) else { return try mint(&state) }
            if age < limit, !state.isRefused { return token }
            guard vault != nil else { return try mint(&state) }
            _ = startExchange(&state)
            // The vault may take its time, but not longer than Apple accepts the token.
            return age < Self.renewalAge + .seconds(10 * 60) ? token : try mint(&state)
        }
    }

    private func age(_ state: State) -> Duration? { state.mintedAt.map { now() - $0 } }

    private func mint(_ state: inout State) throws(SigningError) -> ProviderToken {
        let token = ProviderToken(header: try signed(), generation: (state.current?.generation ?? 0) + 1)
        state.current = token
        state.mintedAt = now()
        state.sealed = nil
        state.isRefused = false
        onMint()
        return token
    }

    private func signed() throws(SigningError) -> String {
        let claims: JSONValue = ["iss": .string(teamID), "iat": .integer(wallClock.now.seconds)]
        return "bearer " + (try JWTSigner.sign(claims: claims, key: key))
    }

    // MARK: The vault

    /// The exchange with the vault that is under way, or a new one.
    private func startExchange(_ state: inout State) -> Task<Void, Never>? {
        if let running = state.exchange { return running }
        if let triedAt = state.vaultTriedAt, now() - triedAt < Self.vaultPause, state.current != nil, !state.isRefused {
            return nil
        }
        state.vaultTriedAt = now()
        let refused = state.current
        let sealed = state.sealed
        let task = Task { await settle(replacing: sealed, token: refused) }
        state.exchange = task
        return task
    }

    private func settle(replacing old: [UInt8]?, token oldToken: ProviderToken?) async {
        defer { state.withLock { $0.exchange = nil } }
        do {
            guard let vault else { return }
            let header = try signed()
            let candidate = try seal.seal(header)
            let lying = try await vault.settle(
                seal.name,
                candidate: candidate,
                replacing: old,
                lifetime: Self.renewalAge
            )
            let isOurs = lying.sealed == candidate
            try adopt(isOurs ? header : seal.open(lying.sealed), lying.sealed, age: lying.age)
            if isOurs { onMint() }
        } catch {
            logger.warning(
                "the shared provider token is out of reach; this process uses its own",
                ["error": .error(error)]
            )
            withoutVault(oldToken)
        }
    }

    private func adopt(_ header: String, _ sealed: [UInt8], age: Duration) {
        state.withLock { state in
            if state.current?.header != header {
                state.current = ProviderToken(header: header, generation: (state.current?.generation ?? 0) + 1)
            }
            state.mintedAt = now() - max(age, .zero)
            state.sealed = sealed
            state.isRefused = false
        }
    }

    /// Goes on alone: a token that is gone, refused or near its end is replaced here.
    private func withoutVault(_ old: ProviderToken?) {
        do {
            try locked { state throws(SigningError) in
                let isFit = age(state).map { $0 < Self.renewalAge } ?? false
                if !isFit || state.isRefused && state.current == old { _ = try mint(&state) }
            }
        } catch {
            logger.error("no provider token could be signed", ["error": .error(error)])
        }
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
