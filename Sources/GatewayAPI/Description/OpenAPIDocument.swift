import HTTPServer
package import Kernel

/// The API's description in OpenAPI 3.1, made from the table of routes, so that it cannot name a route that is not there.
package struct OpenAPIDocument: Sendable {
    package let json: JSONValue

    /// - Parameters:
    ///   - schemas: the named schemas that routes refer to.
    init(endpoints: [Endpoint], schemas: [(name: String, schema: Schema)]) {
        var paths: [(path: String, operations: [JSONMember])] = []
        for endpoint in endpoints {
            let operation = JSONMember(endpoint.method.rawValue.lowercased(), Self.operation(endpoint))
            if let index = paths.firstIndex(where: { $0.path == endpoint.path }) {
                paths[index].operations.append(operation)
            } else {
                paths.append((endpoint.path, [operation]))
            }
        }
        let tags = RouteDescription.Tag.allCases.filter { tag in endpoints.contains { $0.description?.tag == tag } }
        json = [
            "openapi": "3.1.0",
            "info": [
                "title": "Varsel gateway", "version": "1.0.0", "description": .string(Self.introduction),
                "license": ["name": "See the project", "identifier": "LicenseRef-Varsel"],
            ],
            "servers": [["url": "/", "description": "The gateway that serves this document"]],
            "tags": .array(tags.map { ["name": .string($0.rawValue)] }),
            "paths": .object(paths.map { JSONMember($0.path, .object($0.operations)) }),
            "components": [
                "schemas": .object(schemas.map { JSONMember($0.name, $0.schema.json) }),
                "securitySchemes": Self.securitySchemes,
                "headers": Self.headers,
            ],
        ]
    }

    private static let introduction = """
        Apps register devices and read their inbox with a user's access token; backends hand in notifications with a service \
        credential.

        A successful answer with a body is `{"data": …}`. A refusal is `application/problem+json` (RFC 9457): `type` is \
        `urn:varsel:problem:<slug>` and stable, `pointer` and `errors` say where the request is wrong, `requestId` is what to \
        ask the operator about. Every answer carries `X-Request-Id`; send one of your own (1 to 128 of `A-Z a-z 0-9 . _ -`) \
        to find your request in the logs. Unknown members of requests are ignored, and answers may gain members.

        Lengths count bytes of UTF-8 where a description says so, else characters.
        """

    private static let securitySchemes: JSONValue = [
        "userToken": [
            "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
            "description": "An access token of the sign-in service. Its `sub` is the user's id.",
        ],
        "serviceCredential": [
            "type": "http", "scheme": "bearer",
            "description":
                "A service credential `vsk_<id>_<secret>`. The roles named with a route are the scopes it needs.",
        ],
        "developerToken": [
            "type": "apiKey", "in": "header", "name": "X-Dev-Token",
            "description": "The development token. A user's access token may stand beside it.",
        ],
    ]

    private static let headers: JSONValue = [
        "RequestId": [
            "description": "The request's id, as the caller gave it or made here.", "schema": ["type": "string"],
        ],
        "RetryAfter": [
            "description": "Seconds to wait before the next try.", "schema": ["type": "integer", "minimum": 1],
        ],
    ]

    private static func operation(_ endpoint: Endpoint) -> JSONValue {
        let description = endpoint.description
        var members = [
            JSONMember(
                "operationId",
                .string(description?.operation ?? "\(endpoint.method.rawValue) \(endpoint.path)")
            ),
            JSONMember("summary", .string(endpoint.summary)),
        ]
        if let description {
            members.append(JSONMember("tags", [.string(description.tag.rawValue)]))
            if !description.detail.isEmpty { members.append(JSONMember("description", .string(description.detail))) }
            if description.isDeprecated { members.append(JSONMember("deprecated", true)) }
            if !description.parameters.isEmpty {
                members.append(JSONMember("parameters", .array(description.parameters.map(parameter))))
            }
            if let body = description.body { members.append(JSONMember("requestBody", requestBody(body))) }
        }
        members.append(JSONMember("security", security(endpoint)))
        let answers = (description?.answers ?? []).map { JSONMember(String($0.status), answer($0)) }
        let refusals = Refusals.of(endpoint).map { JSONMember(String($0.status), refusal($0)) }
        members.append(JSONMember("responses", .object(answers + refusals)))
        return .object(members)
    }

    private static func security(_ endpoint: Endpoint) -> JSONValue {
        if endpoint.description?.isOpen ?? false { return [] }
        return switch endpoint.access {
        case .optionalUser: [["userToken": []], .object([])]
        case .user: [["userToken": []]]
        case .service(let scope): [["serviceCredential": [.string(scope.rawValue)]]]
        case .userOrService(let scope):
            [["userToken": []], ["serviceCredential": [.string(scope.rawValue)]]]
        case .developer: [["developerToken": []], ["developerToken": [], "userToken": []]]
        }
    }

    private static func parameter(_ parameter: RouteDescription.Parameter) -> JSONValue {
        var members = [
            JSONMember("name", .string(parameter.name)), JSONMember("in", .string(parameter.place.rawValue)),
            JSONMember("required", .bool(parameter.place == .path)), JSONMember("description", .string(parameter.text)),
            JSONMember("schema", parameter.schema.json),
        ]
        if let example = parameter.example { members.append(JSONMember("example", example)) }
        return .object(members)
    }

    private static func requestBody(_ body: RouteDescription.Body) -> JSONValue {
        let examples = body.examples.map { JSONMember($0.name, ["value": $0.value]) }
        return [
            "required": .bool(body.isRequired),
            "content": ["application/json": ["schema": body.schema.json, "examples": .object(examples)]],
        ]
    }

    private static func answer(_ answer: RouteDescription.Answer) -> JSONValue {
        var headers = [JSONMember("X-Request-Id", ["$ref": "#/components/headers/RequestId"])]
        headers += answer.headers.map { header in
            JSONMember(header.name, ["description": .string(header.text), "schema": header.schema.json])
        }
        var members = [JSONMember("description", .string(answer.text)), JSONMember("headers", .object(headers))]
        if let schema = answer.schema {
            var content = [JSONMember("schema", schema.json)]
            if let example = answer.example { content.append(JSONMember("example", example)) }
            members.append(JSONMember("content", .object([JSONMember(answer.contentType, .object(content))])))
        }
        if !answer.links.isEmpty { members.append(JSONMember("links", links(answer.links))) }
        return .object(members)
    }

    private static func links(_ links: [RouteDescription.Link]) -> JSONValue {
        .object(
            links.map { link in
                JSONMember(
                    link.operation,
                    [
                        "operationId": .string(link.operation),
                        "parameters": .object([
                            JSONMember(link.parameter, .string("$response.body#\(link.pointer)"))
                        ]),
                    ]
                )
            }
        )
    }

    private static func refusal(_ refusal: RouteDescription.Refusal) -> JSONValue {
        var headers = [JSONMember("X-Request-Id", ["$ref": "#/components/headers/RequestId"])]
        if [429, 503].contains(refusal.status) {
            headers.append(JSONMember("Retry-After", ["$ref": "#/components/headers/RetryAfter"]))
        }
        let slugs = refusal.slugs.map { "`\($0)`" }.joined(separator: ", ")
        return [
            "description": .string("\(refusal.text) Problems: \(slugs)."),
            "headers": .object(headers),
            "content": [
                "application/problem+json": ["schema": ["$ref": "#/components/schemas/Problem"]]
            ],
        ]
    }
}
