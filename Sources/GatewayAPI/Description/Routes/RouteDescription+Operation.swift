import Kernel

extension RouteDescription {
    /// `GET /api/v1/users/{id}/export`
    static let exportUser = RouteDescription(
        "exportUser",
        .privacy,
        "Every row of every table that concerns the user, as it is stored. Ask for further pages while `hasNext` is true.",
        parameters: [
            userInPath,
            .query("page", .integer(min: 1, max: 100_000), "From 1, the default.", example: 1),
        ],
        answers: [
            .data(
                200,
                "A page with up to \(PersonalDataRoutes.rowsPerPage) rows of each table.",
                .object([
                    .required("userId", .named("UserId")), .required("exportedAt", .moment()),
                    .required("page", .integer(min: 1)), .required("hasNext", .flag()),
                    .required("tables", .map(of: .list(of: .map(of: .anything())), "Rows by table.")),
                ]),
                example: [
                    "userId": "user-1", "exportedAt": CommonSchemas.exampleTime, "page": 1, "hasNext": false,
                    "tables": ["devices": [["user_id": "user-1", "device_id": "iphone-15", "platform": "ios"]]],
                ]
            )
        ],
        refusals: [badUser]
    )

    /// `DELETE /api/v1/users/{id}`
    static let eraseUser = RouteDescription(
        "eraseUser",
        .privacy,
        """
        Removes everything that is held of the user, now and, for what was in flight, a minute later; whatever fails is repeated. \
        What is queued for them ends as cancelled. A user who returns is not held back.
        """,
        parameters: [userInPath],
        answers: [
            .data(
                202,
                "It is recorded and under way.",
                .object([.required("requestedAt", .moment()), .required("completesAt", .moment())]),
                example: ["requestedAt": "2026-12-02T08:30:00.000Z", "completesAt": "2026-12-02T08:31:00.000Z"]
            )
        ],
        refusals: [badUser]
    )

    /// `GET /openapi.json`
    static let document = RouteDescription(
        "getDocument",
        .description,
        answers: [Answer(200, "This document.", .map(of: .anything()), example: ["openapi": "3.1.0"])],
        isOpen: true
    )

    /// `GET /docs`
    static let page = RouteDescription(
        "getPage",
        .description,
        answers: [Answer(200, "The same for reading.", .text(), contentType: "text/html")],
        isOpen: true
    )

    private static let badUser = Refusal(422, ["invalid-parameter"], "The id is no user id.")

    private static let userInPath = Parameter.path("id", .named("UserId"), "The user.", example: "user-1")
}
