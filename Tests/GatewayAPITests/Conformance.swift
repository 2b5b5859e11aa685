import GatewayAPI
import HTTPServer
import Kernel

/// Holds requests and answers against the API's description. Every request that a test sends through `GatewayFixture` passes here.
struct Conformance {
    private let document: JSONValue
    private let endpoints: [Endpoint]
    private let validator: SchemaValidator

    init(_ gateway: Gateway) {
        document = gateway.document.json
        endpoints = gateway.endpoints
        validator = SchemaValidator(document: document)
    }

    /// What the description does not allow; nothing for a path or method that it does not know.
    func faults(
        _ method: HTTPMethod,
        _ target: String,
        request: JSONValue?,
        status: Int,
        headers: HTTPHeaders,
        answer: JSONValue?
    ) -> [String] {
        guard let operation = operation(method, String(target.prefix { $0 != "?" })) else { return [] }
        guard let described = operation["responses"]?[String(status)] else {
            return ["\(method.rawValue) \(target): \(status) is not described"]
        }
        var faults: [String] = []
        for header in described["headers"]?.members ?? []
        where header.name == "X-Request-Id" && !headers.contains(header.name) {
            faults.append("\(header.name) is missing")
        }
        let content = described["content"]?.members?.first
        switch (content, answer) {
        case (nil, nil): break
        case (nil, _?): faults.append("a body where none is described")
        case (_?, nil): faults.append("no body where one is described")
        case (let content?, let answer?):
            if headers["content-type"]?.hasPrefix(content.name) != true {
                faults.append("content type \(headers["content-type"] ?? "none") instead of \(content.name)")
            }
            faults += validator.faults(answer, content.value["schema"] ?? .null)
            if status >= 400 { faults += slugFaults(answer, described) }
        }
        // What was accepted must be what is described, or clients made from the description could not have sent it.
        if (200..<300).contains(status), let request,
            let schema = operation["requestBody"]?["content"]?["application/json"]?["schema"]
        {
            faults += validator.faults(request, schema).map { "request: \($0)" }
        }
        return faults.map { "\(method.rawValue) \(target) \(status): \($0)" }
    }

    private func slugFaults(_ answer: JSONValue, _ described: JSONValue) -> [String] {
        let slug = (answer["type"]?.stringValue ?? "").split(separator: ":").last.map(String.init) ?? ""
        let isNamed = described["description"]?.stringValue?.contains("`\(slug)`") ?? false
        return isNamed ? [] : ["the problem \(slug) is not described"]
    }

    /// The operation that a path leads to, literal segments before parameters.
    private func operation(_ method: HTTPMethod, _ path: String) -> JSONValue? {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        let found = endpoints.filter { endpoint in
            let template = endpoint.path.split(separator: "/", omittingEmptySubsequences: false)
            return endpoint.method == method && template.count == segments.count
                && zip(template, segments).allSatisfy { $0 == $1 || ($0.hasPrefix("{") && !$1.isEmpty) }
        }
        let best = found.min { $0.path.count { $0 == "{" } < $1.path.count { $0 == "{" } }
        return best.flatMap { document["paths"]?[$0.path]?[method.rawValue.lowercased()] }
    }
}
