import HTTPServer
package import Kernel
import Notifications
import Signing

/// Finds out who calls and whether the route is open to them.
package struct Doorkeeper: Sendable {
    private let tokens: AccessTokens
    private let services: ServiceCredentialStore
    private let developerDigest: [UInt8]?
    private let clock: any WallClock

    /// - Parameter developerToken: the value `X-Dev-Token` must have; `nil` where there are no development routes.
    package init(
        tokens: AccessTokens,
        services: ServiceCredentialStore,
        developerToken: String?,
        clock: any WallClock
    ) {
        self.tokens = tokens
        self.services = services
        developerDigest = developerToken.map { SHA256.hash($0) }
        self.clock = clock
    }

    /// Whether development routes exist.
    package var hasDeveloperToken: Bool { developerDigest != nil }

    /// - Throws: 400 for two `Authorization` headers, 401 without a valid credential of the right kind, 403 with a valid one
    ///   that does not suffice. The reason for a 401 is never told. `Unavailable` when nothing can be judged now.
    func admit(_ headers: HTTPHeaders, to access: Access) async throws -> Caller {
        let bearer = try BearerHeader(headers)
        switch access {
        case .optionalUser:
            return try await user(bearer).map(Caller.user) ?? .anonymous
        case .user:
            if let user = try await user(bearer) { return .user(user) }
            throw bearer == .absent ? Problem.unauthenticated : .invalidToken
        case .service(let scope):
            return .service(try service(bearer, scope: scope))
        case .userOrService(let scope):
            if let user = try await user(bearer) { return .user(user) }
            guard Self.token(bearer) == nil else { throw Problem.invalidToken }
            return .service(try service(bearer, scope: scope))
        case .developer:
            try checkDeveloper(headers)
            if case .absent = bearer { return .developer(nil) }
            guard let user = try await user(bearer) else { throw Problem.invalidToken }
            return .developer(user)
        }
    }

    /// Judges the same without waiting for anybody, before a body is read. Lets through what only `admit` can judge.
    /// - Throws: what `admit` would throw.
    func screen(_ headers: HTTPHeaders, for access: Access) throws(Problem) {
        let bearer = try BearerHeader(headers)
        switch access {
        case .optionalUser: break
        case .user:
            guard Self.token(bearer) != nil else { throw bearer == .absent ? .unauthenticated : .invalidToken }
            try checkToken(bearer)
        case .service(let scope): _ = try service(bearer, scope: scope)
        case .userOrService(let scope):
            switch verdict(bearer) {
            case .user, .unknownKey, .noKeys: break
            case .refused, nil: _ = try service(bearer, scope: scope)
            }
        case .developer:
            try checkDeveloper(headers)
            if bearer != .absent { try checkToken(bearer) }
        }
    }

    private func checkDeveloper(_ headers: HTTPHeaders) throws(Problem) {
        guard let developerDigest else { throw .noSuchPath }
        let given = headers.values("x-dev-token")
        guard given.count == 1, ConstantTime.equal(SHA256.hash(given[0]), developerDigest) else {
            throw .developerTokenRequired
        }
    }

    private static func token(_ bearer: BearerHeader) -> String? {
        guard case .token(let token) = bearer, !token.hasPrefix(ServiceCredentials.tokenPrefix) else { return nil }
        return token
    }

    private func user(_ bearer: BearerHeader) async throws(Unavailable) -> UserID? {
        guard let token = Self.token(bearer) else { return nil }
        return try await tokens.user(of: token)
    }

    /// `nil` for what is no access token.
    private func verdict(_ bearer: BearerHeader) -> AccessTokens.Verdict? {
        Self.token(bearer).map { tokens.verdict(on: $0) }
    }

    /// Turns away what is refused whatever the issuer may have published since.
    private func checkToken(_ bearer: BearerHeader) throws(Problem) {
        switch verdict(bearer) {
        case .user, .unknownKey, .noKeys: break
        case .refused(let code):
            tokens.count(code)
            throw .invalidToken
        case nil: throw .invalidToken
        }
    }

    private func service(_ bearer: BearerHeader, scope: Scope) throws(Problem) -> ServiceCredential {
        guard case .token(let token) = bearer else { throw bearer == .absent ? .unauthenticated : .invalidToken }
        guard let credential = services.credentials.credential(of: token, now: clock.now) else {
            switch verdict(bearer) {
            case .user: throw .insufficientScope(scope)
            case .refused(let code): tokens.count(code)
            case .unknownKey, .noKeys, nil: break
            }
            throw .invalidToken
        }
        guard credential.scopes.contains(scope) else { throw .insufficientScope(scope) }
        return credential
    }
}
