import Kernel

extension RouteDescription {
    /// `POST /api/v1/activities`
    static let reportActivity = RouteDescription(
        "reportActivity",
        .activity,
        """
        An app reports for its own user, a backend for up to \(ActivityRoutes.batchLimit) users, all or none. Only the newest moment \
        of a user counts, so reports may be repeated and come in any order. Nothing of what the user wrote is asked for.
        """,
        body: Body(
            .anyOf([
                .object(activity),
                .object([
                    .required(
                        "activities",
                        .list(
                            of: .object([.required("userId", .named("UserId"))] + activity),
                            min: 1,
                            max: ActivityRoutes.batchLimit
                        )
                    )
                ]),
            ]),
            examples: [
                ("app", ["type": "impulse"]),
                (
                    "backend",
                    [
                        "activities": [
                            ["userId": "user-1", "type": "entry", "occurredAt": "2026-11-30T09:30:00Z"],
                            ["userId": "user-2", "type": "impulse"],
                        ]
                    ]
                ),
            ]
        ),
        answers: [
            .data(
                200,
                "Recorded.",
                .object([.required("accepted", .integer("Reports in the request.", min: 1))]),
                example: ["accepted": 2]
            )
        ]
    )

    private static let activity: [Schema.Member] = [
        .required("type", .text(oneOf: ["impulse", "entry"])),
        .optional("occurredAt", .moment("Now when absent; at most five minutes ahead.").orNull),
    ]
}
