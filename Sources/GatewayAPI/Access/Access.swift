import Notifications

/// Who may call a route.
package enum Access: Sendable, Equatable {
    /// Anybody; a valid access token adds the user.
    case optionalUser
    /// A user's access token.
    case user
    /// A backend's service credential with the scope.
    case service(Scope)
    /// A user's access token, or a backend's service credential with the scope.
    case userOrService(Scope)
    /// A person with the development token; the user comes from an access token beside it, or from the body.
    case developer
}

/// Who calls, once that is proven.
enum Caller: Sendable, Equatable {
    case anonymous
    case user(UserID)
    case service(ServiceCredential)
    /// With the user of the access token sent beside the development token, if any.
    case developer(UserID?)
}
