import HTTPServer
import Kernel

/// Which page of a list is asked for: `?page=1&limit=20`.
struct PageRequest: Equatable {
    /// The largest page.
    static let maximumLimit = 100
    /// The furthest item that can be reached by page: beyond it a list is no longer read by people.
    static let maximumReach = 10_000

    /// From 1.
    let page: Int
    let limit: Int

    var offset: Int { (page - 1) * limit }

    /// - Throws: 422 for what is no number or out of range.
    init(_ request: HTTPRequest) throws(Problem) {
        page = try Self.number(request, "page", default: 1)
        limit = try Self.number(request, "limit", default: 20)
        guard limit <= Self.maximumLimit else {
            throw .badParameter("limit", "must be at most \(Self.maximumLimit)")
        }
        guard page <= Self.maximumReach / limit else {
            throw .badParameter("page", "page times limit must be at most \(Self.maximumReach)")
        }
    }

    private static func number(_ request: HTTPRequest, _ name: String, default value: Int) throws(Problem) -> Int {
        guard let text = request.query(name) else { return value }
        guard let number = Int(text), number >= 1 else { throw .badParameter(name, "must be a whole number from 1") }
        return number
    }

    /// The `pagination` member for a list of `total` items.
    func pagination(total: Int) -> JSONValue {
        let pages = (total + limit - 1) / limit
        return [
            "page": .integer(page), "limit": .integer(limit), "total": .integer(total),
            "totalPages": .integer(pages),  // The page after the last one that may be asked for is none.
            "hasNext": .bool(page < min(pages, Self.maximumReach / limit)),
        ]
    }
}

extension Problem {
    /// 422 for a query parameter.
    static func badParameter(_ name: String, _ detail: String) -> Problem {
        invalidParameter("The query parameter \(name) \(detail).")
    }

    /// 422 for a part of the path.
    static func badPathParameter(_ name: String, _ detail: String) -> Problem {
        invalidParameter("\(name), in the path, \(detail).")
    }

    private static func invalidParameter(_ detail: String) -> Problem {
        Problem(status: 422, slug: "invalid-parameter", title: "Unprocessable request", detail: detail)
    }
}
