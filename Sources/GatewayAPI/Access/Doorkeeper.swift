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
    ///   that does not suffice. The reason for a 401 is never told.
    func admit(_ headers: HTTPHeaders, to access: Access) throws(Problem) -> Caller {
        let bearer = try BearerHeader(headers)
        switch access {
        case .optionalUser:
            return user(bearer).map(Caller.user) ?? .anonymous
        case .user:
            if let user = user(bearer) { return .user(user) }
            throw bearer == .absent ? .unauthenticated : .invalidToken
        case .service(let scope):
            return .service(try service(bearer, scope: scope))
        case .userOrService(let scope):
            if let user = user(bearer) { return .user(user) }
            return .service(try service(bearer, scope: scope))
        case .developer:
            guard let developerDigest else { throw .noSuchPath }
            let given = headers.values("x-dev-token")
            guard given.count == 1, ConstantTime.equal(SHA256.hash(given[0]), developerDigest) else {
                throw .developerTokenRequired
            }
            if case .absent = bearer { return .developer(nil) }
            guard let user = user(bearer) else { throw .invalidToken }
            return .developer(user)
        }
    }

    private func user(_ bearer: BearerHeader) -> UserID? {
        guard case .token(let token) = bearer, !token.hasPrefix(ServiceCredentials.tokenPrefix) else { return nil }
        return tokens.user(of: token)
    }

    private func service(_ bearer: BearerHeader, scope: Scope) throws(Problem) -> ServiceCredential {
        guard case .token(let token) = bearer else { throw bearer == .absent ? .unauthenticated : .invalidToken }
        guard let credential = services.credentials.credential(of: token, now: clock.now) else {
            throw user(bearer) == nil ? .invalidToken : .insufficientScope(scope)
        }
        guard credential.scopes.contains(scope) else { throw .insufficientScope(scope) }
        return credential
    }
}
