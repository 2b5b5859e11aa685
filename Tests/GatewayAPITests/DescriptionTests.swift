import Foundation
import GatewayAPI
import HTTPServer
import Kernel
import Testing

/// The API's description says what the gateway does (G11). That real answers fit it, every request of these tests shows.
@Suite struct DescriptionTests {
    private struct Operation {
        let method: HTTPMethod
        let path: String
        let access: Access
        let value: JSONValue
    }

    private func operations(_ gateway: Gateway) throws -> [Operation] {
        try gateway.endpoints.map { endpoint in
            let method = endpoint.method.rawValue.lowercased()
            let value = try #require(gateway.document.json["paths"]?[endpoint.path]?[method])
            return Operation(method: endpoint.method, path: endpoint.path, access: endpoint.access, value: value)
        }
    }

    @Test func `every route is described, and every described route exists (G11)`() throws {
        let gateway = try GatewayFixture().gateway
        for endpoint in gateway.endpoints {
            #expect(endpoint.description != nil, "\(endpoint.method.rawValue) \(endpoint.path) lacks described(…)")
        }
        let described = (gateway.document.json["paths"]?.members ?? []).flatMap { path in
            (path.value.members ?? []).map { "\($0.name.uppercased()) \(path.name)" }
        }
        #expect(Set(described) == Set(gateway.endpoints.map { "\($0.method.rawValue) \($0.path)" }))
        let names = try operations(gateway).compactMap { $0.value["operationId"]?.stringValue }
        #expect(Set(names).count == gateway.endpoints.count)
        // Without a development token its routes are neither there nor described.
        let plain = try GatewayFixture(developerToken: nil).gateway
        #expect(!plain.document.json.text.contains("/dev/"))
    }

    @Test func `every parameter of a path is described, with an example that fits`() throws {
        let gateway = try GatewayFixture().gateway
        let validator = SchemaValidator(document: gateway.document.json)
        for operation in try operations(gateway) {
            let parameters = operation.value["parameters"]?.arrayValue ?? []
            let inPath = parameters.filter { $0["in"] == "path" }.compactMap { $0["name"]?.stringValue }
            let inTemplate = operation.path.split(separator: "/").filter { $0.hasPrefix("{") }
                .map { String($0.dropFirst().dropLast()) }
            #expect(Set(inPath) == Set(inTemplate), "\(operation.path)")
            for parameter in parameters {
                if parameter["in"] == "path" { #expect(parameter["example"] != nil) }
                guard let example = parameter["example"] else { continue }
                #expect(validator.faults(example, parameter["schema"] ?? .null) == [], "\(operation.path)")
            }
        }
    }

    @Test func `every link leads to an operation that takes it, from a place that the answer has (G11)`() throws {
        let operations = try operations(try GatewayFixture().gateway)
        let parameters = Dictionary(
            operations.map { operation in
                let names = (operation.value["parameters"]?.arrayValue ?? []).filter { $0["in"] == "path" }
                    .compactMap { $0["name"]?.stringValue }
                return (operation.value["operationId"]?.stringValue ?? "", names)
            },
            uniquingKeysWith: { first, _ in first }
        )
        var count = 0
        for operation in operations {
            for answer in operation.value["responses"]?.members ?? [] {
                for link in answer.value["links"]?.members ?? [] {
                    count += 1
                    #expect(link.name == link.value["operationId"]?.stringValue)
                    let given = link.value["parameters"]?.members ?? []
                    #expect(given.map(\.name) == parameters[link.name], "\(link.name)")
                    let example = answer.value["content"]?["application/json"]?["example"]
                    for parameter in given {
                        let path = parameter.value.stringValue?.split(separator: "#/").last?.split(separator: "/") ?? []
                        let value = path.reduce(example) { $0?[String($1)] }
                        #expect(value?.stringValue != nil, "\(link.name) \(parameter.value)")
                    }
                }
            }
        }
        #expect(count >= 13)
    }

    @Test func `every successful answer with a body has an example that fits its schema`() throws {
        let gateway = try GatewayFixture().gateway
        let validator = SchemaValidator(document: gateway.document.json)
        for operation in try operations(gateway) {
            for answer in operation.value["responses"]?.members ?? [] where answer.name.hasPrefix("2") {
                guard let content = answer.value["content"]?["application/json"] else { continue }
                let example = try #require(content["example"], "\(operation.path) \(answer.name)")
                #expect(validator.faults(example, content["schema"] ?? .null) == [], "\(operation.path) \(answer.name)")
            }
        }
    }

    @Test func `every example of a request fits its schema and is accepted`() async throws {
        let fixture = try GatewayFixture()
        let validator = SchemaValidator(document: fixture.gateway.document.json)
        var sent = 0
        for operation in try operations(fixture.gateway) {
            guard let body = operation.value["requestBody"]?["content"]?["application/json"] else { continue }
            var path = operation.path
            for parameter in operation.value["parameters"]?.arrayValue ?? [] where parameter["in"] == "path" {
                let name = try #require(parameter["name"]?.stringValue)
                path = path.replacing("{\(name)}", with: parameter["example"]?.stringValue ?? "")
            }
            for example in body["examples"]?.members ?? [] {
                let value = try #require(example.value["value"])
                #expect(validator.faults(value, body["schema"] ?? .null) == [], "\(operation.path) \(example.name)")
                let answer =
                    switch operation.access {
                    case .service: try await fixture.service(operation.method, path, value)
                    case .user: try await fixture.user(operation.method, path, value)
                    case .userOrService:
                        value["activities"] == nil
                            ? try await fixture.user(operation.method, path, value)
                            : try await fixture.service(operation.method, path, value)
                    case .developer:
                        try await fixture.developer(String(path.split(separator: "/").last ?? ""), value)
                    default: try await fixture.send(operation.method, path, value)
                    }
                // What an example is about need not exist, and state may stand against it; the request itself must be fine.
                #expect(![400, 401, 403, 415, 422, 500].contains(answer.status), "\(path): \(answer.text)")
                sent += 1
            }
        }
        #expect(sent >= 10)
    }

    @Test func `all references lead somewhere, and every named schema is used`() throws {
        let json = try GatewayFixture().gateway.document.json
        var used: Set<String> = []
        func walk(_ value: JSONValue) {
            for member in value.members ?? [] {
                if member.name == "$ref", let target = member.value.stringValue {
                    used.insert(target)
                } else {
                    walk(member.value)
                }
            }
            for element in value.arrayValue ?? [] { walk(element) }
        }
        walk(json)
        let schemas = Set((json["components"]?["schemas"]?.members ?? []).map { "#/components/schemas/\($0.name)" })
        #expect(used.filter { $0.hasPrefix("#/components/schemas/") } == schemas)
    }

    @Test func `document and page are open to everybody, and the page needs nothing from anywhere`() async throws {
        let fixture = try GatewayFixture()
        let document = try await fixture.send(.get, "/openapi.json")
        #expect(document.status == 200)
        #expect(document.headers["content-type"] == "application/json")
        #expect(document.json["openapi"] == "3.1.0")
        let response = await fixture.client.send(.get, "/docs")
        #expect(response.status == 200)
        #expect(response.headers["content-type"] == "text/html; charset=utf-8")
        let policy = try #require(response.headers["content-security-policy"])
        #expect(policy.hasPrefix("default-src 'none'; style-src 'sha256-"))
        #expect(!policy.contains("unsafe"))
        let html = String(decoding: response.body, as: UTF8.self)
        for endpoint in fixture.gateway.endpoints { #expect(html.contains("<code>\(endpoint.path)</code>")) }
        for external in ["src=", "@import", "url(", "http:", "https:", " style=", "onclick"] {
            #expect(!html.contains(external), "\(external)")
        }
    }

    @Test func `the inbox of the first version says that it is deprecated, until when, and what follows (G4)`()
        async throws
    {
        let answer = try await GatewayFixture().user(.get, "/api/v1/notifications?limit=5")
        #expect(answer.status == 200)
        #expect(answer.data.arrayValue == [])
        #expect(answer.headers["deprecation"] == "@1796083200")
        #expect(answer.headers["sunset"] == "Wed, 01 Dec 2027 00:00:00 GMT")
        #expect(answer.headers["link"] == "</api/v2/notifications>; rel=\"successor-version\"")
    }
}
