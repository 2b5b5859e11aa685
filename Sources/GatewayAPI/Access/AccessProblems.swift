import HTTPServer

extension Problem {
    private static let realm = "Bearer realm=\"varsel\""

    static let twoCredentials = Problem(
        status: 400,
        slug: "two-credentials",
        title: "Bad request",
        detail: "More than one Authorization header."
    )

    static let unauthenticated = Problem(
        status: 401,
        slug: "unauthenticated",
        title: "Authentication required",
        detail: "Send a bearer token in the Authorization header.",
        headers: ["www-authenticate": realm]
    )

    static let invalidToken = Problem(
        status: 401,
        slug: "invalid-token",
        title: "Invalid token",
        detail: "The bearer token is not valid here.",
        headers: ["www-authenticate": "\(realm), error=\"invalid_token\""]
    )

    static let developerTokenRequired = Problem(
        status: 401,
        slug: "developer-token-required",
        title: "Development token required",
        detail: "Send the development token in the X-Dev-Token header."
    )

    static let noSuchPath = Problem(
        status: 404,
        slug: "not-found",
        title: "Not found",
        detail: "There is no such path."
    )

    static func insufficientScope(_ scope: Scope) -> Problem {
        Problem(
            status: 403,
            slug: "insufficient-scope",
            title: "Not allowed",
            detail: "This needs a service credential with the scope \(scope.rawValue).",
            headers: ["www-authenticate": "\(realm), error=\"insufficient_scope\", scope=\"\(scope.rawValue)\""]
        )
    }

    static func tooManyRegistrations(retryAfter seconds: Int) -> Problem {
        Problem(
            status: 429,
            slug: "too-many-registrations",
            title: "Too many registrations",
            detail: "This address registers devices too often.",
            headers: ["retry-after": String(seconds)]
        )
    }
}
