import Kernel

/// A refusal that the client can read and act on: problem details as in RFC 9457.
package struct Problem: Error, Sendable, CustomStringConvertible {
    /// One fault among several in the same request.
    package struct Fault: Sendable, Equatable {
        /// JSON pointer (RFC 6901) to the member at fault.
        package let pointer: String
        package let detail: String

        package init(pointer: String, detail: String) {
            self.pointer = pointer
            self.detail = detail
        }
    }

    package var status: Int
    /// The last part of the problem's type, stable for programs: `unknown-category`.
    package var slug: String
    package var title: String
    /// What was wrong this time and what would be right. Never a secret or a token.
    package var detail: String?
    /// JSON pointer to the member at fault, when there is one.
    package var pointer: String?
    /// All faults when there are several; `pointer` then is the first one's.
    package var faults: [Fault]
    package var headers: HTTPHeaders

    package init(
        status: Int,
        slug: String,
        title: String,
        detail: String? = nil,
        pointer: String? = nil,
        faults: [Fault] = [],
        headers: HTTPHeaders = [:]
    ) {
        self.status = status
        self.slug = slug
        self.title = title
        self.detail = detail
        self.pointer = pointer ?? faults.first?.pointer
        self.faults = faults
        self.headers = headers
    }

    package var description: String {
        "\(status) \(slug)\(pointer.map { " at \($0)" } ?? "")\(detail.map { ": \($0)" } ?? "")"
    }

    /// The body of the answer.
    func body(requestID: String, typePrefix: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("type", typePrefix + slug)
            writer.member("title", title)
            writer.member("status", status)
            writer.member("detail", optional: detail)
            writer.member("pointer", optional: pointer)
            if faults.count > 1 {
                writer.name("errors")
                writer.array { writer in
                    for fault in faults {
                        writer.object { writer in
                            writer.member("pointer", fault.pointer)
                            writer.member("detail", fault.detail)
                        }
                    }
                }
            }
            writer.member("requestId", requestID)
        }
        return writer.bytes
    }
}

extension Problem {
    /// 503 that asks the client to come back after some seconds.
    package static func unavailable(slug: String, detail: String, retryAfter seconds: Int) -> Problem {
        Problem(
            status: 503,
            slug: slug,
            title: "Service unavailable",
            detail: detail,
            headers: ["retry-after": String(seconds)]
        )
    }

    static let badTarget = Problem(
        status: 400,
        slug: "bad-request-target",
        title: "Bad request target",
        detail: "The path or query is not valid percent-encoded UTF-8, or holds control characters."
    )

    static let notFound = Problem(
        status: 404,
        slug: "not-found",
        title: "Not found",
        detail: "There is no such path."
    )

    static func methodNotAllowed(allow: String) -> Problem {
        Problem(
            status: 405,
            slug: "method-not-allowed",
            title: "Method not allowed",
            detail: "This path answers \(allow).",
            headers: ["allow": allow]
        )
    }

    static func bodyTooLarge(limit: Int) -> Problem {
        Problem(
            status: 413,
            slug: "body-too-large",
            title: "Body too large",
            detail: "The body may have \(limit) bytes."
        )
    }

    static func badFraming(_ detail: String) -> Problem {
        Problem(status: 400, slug: "bad-framing", title: "Bad request", detail: detail)
    }

    static let internalError = Problem(
        status: 500,
        slug: "internal-error",
        title: "Internal error",
        detail: "The request failed; its id is in the log."
    )
}
