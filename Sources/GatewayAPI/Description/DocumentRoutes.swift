import HTTPServer
import Kernel
import Signing

/// The API's description, for programs and for people (G11). Both are made once, from the same table that is served.
struct DocumentRoutes: Sendable {
    let document: OpenAPIDocument
    let endpoints: [Endpoint]

    /// - Parameter others: every other route; these two describe themselves too.
    init(describing others: [Endpoint], schemas: [(name: String, schema: Schema)]) {
        let none = HTTPResponse.noContent
        let own = Self.routes(document: none, page: none)
        let document = OpenAPIDocument(endpoints: others + own, schemas: schemas)
        self.document = document
        endpoints = Self.routes(document: Self.answer(document), page: Self.page(document))
    }

    private static func routes(document: HTTPResponse, page: HTTPResponse) -> [Endpoint] {
        [
            Endpoint(.get, "/openapi.json", access: .optionalUser, summary: "The API's description, OpenAPI 3.1") {
                _,
                _ in document
            }
            .described(.document),
            Endpoint(.get, "/docs", access: .optionalUser, summary: "The API's description for reading") { _, _ in page
            }
            .described(.page),
        ]
    }

    private static func answer(_ document: OpenAPIDocument) -> HTTPResponse {
        .json(document.json.utf8, headers: ["cache-control": "max-age=300"])
    }

    /// Nothing may be loaded, and nothing runs but the page's own style and script, known by their digests.
    private static func page(_ document: OpenAPIDocument) -> HTTPResponse {
        func source(_ text: String) -> String { "'sha256-\(Base64.encode(SHA256.hash(text)))'" }
        let policy = [
            "default-src 'none'", "style-src \(source(DocumentPage.style))",
            "script-src \(source(DocumentPage.script))",
            "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        ]
        return HTTPResponse(
            status: 200,
            headers: [
                "content-type": "text/html; charset=utf-8", "cache-control": "max-age=300",
                "content-security-policy": policy.joined(separator: "; "), "x-content-type-options": "nosniff",
                "referrer-policy": "no-referrer",
            ],
            body: Array(DocumentPage(document).html.utf8)
        )
    }
}
