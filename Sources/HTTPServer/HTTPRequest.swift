package import Kernel

/// A request that arrived completely and found its route.
package struct HTTPRequest: Sendable {
    package var method: HTTPMethod
    /// The decoded path. It may hold personal data: logs and metrics use `route`.
    package var path: String
    /// The template of the route that matched: `/api/v1/things/{id}`.
    package var route: String
    package var query: [(name: String, value: String)]
    package var headers: HTTPHeaders
    package var body: [UInt8]
    /// The address of the client, seen through trusted proxies.
    package var remoteAddress: String
    /// The request id: the caller's own when it sent an acceptable one.
    package var id: String
    /// The decoded values of the template's `{names}`.
    package var parameters: [String: String]

    /// The first value of a query parameter.
    package func query(_ name: String) -> String? {
        query.first { $0.name == name }?.value
    }

    /// The body as JSON.
    /// - Throws: `Problem` 415 for another content type, 400 with the place for a body that is not JSON.
    package func json(limits: JSONLimits = JSONLimits()) throws(Problem) -> JSONValue {
        guard let type = headers["content-type"], Self.isJSON(type) else {
            throw Problem(
                status: 415,
                slug: "unsupported-media-type",
                title: "Unsupported media type",
                detail: "The body must be application/json in UTF-8.",
                headers: ["accept": "application/json"]
            )
        }
        do {
            return try JSONValue(parsing: body, limits: limits)
        } catch {
            throw Problem(
                status: 400,
                slug: "malformed-json",
                title: "Malformed JSON",
                detail: "The body is not acceptable JSON: \(error)."
            )
        }
    }

    /// Whether a content type is `application/json`, with at most a charset of UTF-8 beside it.
    static func isJSON(_ contentType: String) -> Bool {
        var parts = contentType.lowercased().split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
        guard !parts.isEmpty, parts.removeFirst() == "application/json" else { return false }
        return parts.allSatisfy { !$0.hasPrefix("charset=") || $0 == "charset=utf-8" || $0 == "charset=\"utf-8\"" }
    }
}
