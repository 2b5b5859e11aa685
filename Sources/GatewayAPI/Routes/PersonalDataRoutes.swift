import HTTPServer
import Kernel
import Notifications

/// What is held of a user: told and erased on a backend's word.
struct PersonalDataRoutes: Sendable {
    private static let path = "/api/v1/users/{id}"
    /// Rows of each table in one page of an export: a page has a few megabytes at most.
    static let rowsPerPage = 1000
    private static let patience = Duration.seconds(60)

    let data: any PersonalData
    let clock: any WallClock

    var endpoints: [Endpoint] {
        [
            .service(
                .get,
                Self.path + "/export",
                scope: .usersErase,
                summary: "Everything that is held of a user, a page at a time",
                limits: RouteLimits(deadline: Self.patience)
            ) { request, _ in
                try await export(try user(request), page: try page(request))
            }
            .described(.exportUser),
            .service(
                .delete,
                Self.path,
                scope: .usersErase,
                summary: "Erase a user",
                limits: RouteLimits(deadline: Self.patience)
            ) { request, _ in
                let erasure = try await data.erase(try user(request))
                return .data(
                    [
                        "requestedAt": .string(erasure.requestedAt.rfc3339),
                        "completesAt": .string(erasure.completesAt.rfc3339),
                    ],
                    status: 202
                )
            }
            .described(.eraseUser),
        ]
    }

    private func user(_ request: HTTPRequest) throws(Problem) -> UserID {
        guard let user = request.parameters["id"].flatMap(UserID.init) else {
            throw .badPathParameter("id", "must be \(UserID.rule)")
        }
        return user
    }

    private func page(_ request: HTTPRequest) throws(Problem) -> Int {
        guard let text = request.query("page") else { return 1 }
        guard let page = Int(text), (1...100_000).contains(page) else {
            throw .badParameter("page", "must be a whole number from 1 to 100000")
        }
        return page
    }

    private func export(_ user: UserID, page: Int) async throws -> HTTPResponse {
        let found = try await data.page(
            of: user,
            limit: Self.rowsPerPage,
            offset: (page - 1) * Self.rowsPerPage
        )
        return .data([
            "userId": .string(user.rawValue), "exportedAt": .string(clock.now.rfc3339), "page": .integer(page),
            "hasNext": .bool(found.hasNext),
            "tables": .object(found.tables.map { JSONMember($0.name, .array($0.rows)) }),
        ])
    }
}
