import HTTPServer

/// The problems that a route may answer because of what it is: who may call it, whether it takes a body or parameters.
enum Refusals {
    /// Those of every route and the route's own, one entry a status, in order.
    static func of(_ endpoint: Endpoint) -> [RouteDescription.Refusal] {
        var all: [RouteDescription.Refusal] = [
            .init(400, ["bad-framing", "bad-request-target"], "The request cannot be read."),
            .init(500, ["internal-error"], "A fault of the service; the request's id is in its log."),
            .init(
                503,
                ["temporarily-unavailable", "overloaded", "stopping", "deadline-exceeded"],
                "A part of the service does not answer, or it is overloaded or stopping. Come back after `Retry-After`."
            ),
        ]
        if !(endpoint.description?.isOpen ?? false) {
            all.append(.init(400, ["two-credentials"], "More than one `Authorization` header."))
            all += refusals(of: endpoint.access)
        }
        if endpoint.description?.body != nil {
            all += [
                .init(400, ["malformed-json"], "The body is no JSON in UTF-8, has a name twice or lies too deep."),
                .init(413, ["body-too-large"], "The body may have \(endpoint.limits.bodyBytes) bytes."),
                .init(415, ["unsupported-media-type"], "The body must be `application/json`."),
                .init(
                    422,
                    ["invalid-request"],
                    "The body says something that cannot be done; `errors` names each fault."
                ),
            ]
        }
        if endpoint.description?.parameters.contains(where: { $0.place == .query }) ?? false {
            all.append(.init(422, ["invalid-parameter"], "A parameter is not acceptable."))
        }
        all += endpoint.description?.refusals ?? []
        return merged(all)
    }

    private static func refusals(of access: Access) -> [RouteDescription.Refusal] {
        switch access {
        case .optionalUser: []
        case .user: [.init(401, ["unauthenticated", "invalid-token"], "An access token is missing or not valid here.")]
        case .service:
            [
                .init(401, ["unauthenticated", "invalid-token"], "A service credential is missing or not valid here."),
                .init(403, ["insufficient-scope"], "The credential lacks the scope, or a user's token was sent."),
            ]
        case .userOrService:
            [
                .init(
                    401,
                    ["unauthenticated", "invalid-token"],
                    "Neither a valid access token nor a service credential."
                ),
                .init(403, ["insufficient-scope"], "The credential lacks the scope."),
            ]
        case .developer:
            [
                .init(
                    401,
                    ["developer-token-required", "invalid-token"],
                    "The development token is missing or wrong, or the access token beside it is not valid."
                )
            ]
        }
    }

    private static func merged(_ refusals: [RouteDescription.Refusal]) -> [RouteDescription.Refusal] {
        Dictionary(grouping: refusals, by: \.status).sorted { $0.key < $1.key }.map { status, group in
            RouteDescription.Refusal(status, group.flatMap(\.slugs), group.map(\.text).joined(separator: " "))
        }
    }
}
