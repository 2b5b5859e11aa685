import Kernel
import Notifications

extension RouteDescription {
    /// `POST /api/v1/notifications`
    static let enqueueOne = RouteDescription(
        "enqueueNotification",
        .notifications,
        """
        Hands one notification to the queue. What becomes of it is decided when it is due: permission, silence, category, window \
        and weekly caps. \(idempotencyText)
        """,
        parameters: [idempotencyKey],
        body: Body(
            .named("NotificationOrder"),
            examples: [
                ("words", ["userId": "user-1", "category": "lifecycle", "body": "Your export is ready."]),
                (
                    "catalog",
                    [
                        "userId": "user-1", "category": "reminder", "text": ["key": "reminder.step3"],
                        "deeplinkUrl": "im://home",
                    ]
                ),
            ]
        ),
        answers: [
            .data(202, "Enqueued.", .named("NotificationReceipt"), example: exampleReceipt, headers: [replayed])
                .leading(
                    to: ["cancelScheduledNotification", "moveScheduledNotification"],
                    by: "messageId",
                    from: "/data/messageId"
                )
        ],
        refusals: enqueueRefusals
    )

    /// `POST /api/v1/notifications/bulk`
    static let enqueueMany = RouteDescription(
        "enqueueNotifications",
        .notifications,
        "All of them or none: a fault in one refuses the bulk, and `pointer` says which. \(idempotencyText)",
        parameters: [idempotencyKey],
        body: Body(
            .object([
                .required(
                    "notifications",
                    .list(of: .named("NotificationOrder"), min: 1, max: EnqueueRoutes.bulkLimit)
                )
            ]),
            examples: [
                (
                    "two",
                    [
                        "notifications": [
                            ["userId": "user-1", "category": "lifecycle", "body": "Your export is ready."],
                            ["userId": "user-2", "category": "lifecycle", "body": "Your export is ready."],
                        ]
                    ]
                )
            ]
        ),
        answers: [
            .data(
                202,
                "Enqueued, in the order of the request.",
                .object([.required("notifications", .list(of: .named("NotificationReceipt")))]),
                example: ["notifications": [exampleReceipt]],
                headers: [replayed]
            )
        ],
        refusals: enqueueRefusals
    )

    /// `DELETE /api/v1/notifications/{messageId}/schedule`
    static let cancelSchedule = RouteDescription(
        "cancelScheduledNotification",
        .notifications,
        "By the credential that handed it in, until a worker takes it up. Calling it back again is harmless.",
        parameters: [scheduledID],
        answers: [Answer(204, "It will not be delivered.")],
        refusals: [
            noSuchNotification, Refusal(409, ["already-delivering"], "It is being delivered or has ended."),
        ]
    )

    /// `PATCH /api/v1/notifications/{messageId}/schedule`
    static let moveSchedule = RouteDescription(
        "moveScheduledNotification",
        .notifications,
        """
        By the credential that handed it in, until a worker takes it up. A message's id carries the moment it is due, so the \
        answer gives a new one; the older ones keep leading to these two routes.
        """,
        parameters: [scheduledID],
        body: Body(
            .object([.required("scheduledFor", .moment("At most 90 days ahead. The past means now."))]),
            examples: [("later", ["scheduledFor": "2026-12-02T09:30:00+01:00"])]
        ),
        answers: [
            .data(
                200,
                "Moved.",
                .object([
                    .required("messageId", .named("MessageId")), .required("jobId", .text()),
                    .required("scheduledFor", .moment()),
                ]),
                example: [
                    "messageId": CommonSchemas.exampleID, "jobId": CommonSchemas.exampleID,
                    "scheduledFor": CommonSchemas.exampleTime,
                ]
            )
        ],
        refusals: [
            noSuchNotification,
            Refusal(
                409,
                ["already-delivering", "already-cancelled", "moved-too-often"],
                "It is being delivered, has ended, was called back, or was moved a hundred times."
            ),
        ]
    )

    /// `GET /api/v1/notifications/explain`
    static let explain = RouteDescription(
        "explainNotifications",
        .operation,
        "Why did this user get nothing? One of `messageId` and `userId` must be given. Tokens appear shortened.",
        parameters: [
            .query("messageId", .named("MessageId"), "One message.", example: CommonSchemas.exampleID),
            .query("userId", .named("UserId"), "The newest messages of a user."),
            .query("limit", .integer(min: 1, max: PageRequest.maximumLimit), "With `userId`: how many, 20 by default."),
        ],
        answers: [
            .data(
                200,
                "The message's story, or `messages` with the stories of a user.",
                .anyOf([
                    .named("MessageStory"),
                    .object([.required("messages", .list(of: .named("MessageStory")))]),
                ]),
                example: [
                    "messageId": CommonSchemas.exampleID, "userId": "user-1", "category": "reminder",
                    "scheduledFor": nil, "message": nil,
                    "events": [
                        [
                            "kind": "suppressed", "at": CommonSchemas.exampleTime, "gate": "permission",
                            "reason": "permission", "jobId": CommonSchemas.exampleID, "ats": 1, "attempt": 0,
                            "device": nil, "detail": nil,
                        ]
                    ],
                ]
            )
        ],
        refusals: [noSuchNotification]
    )

    static let idempotencyText = """
        With an `Idempotency-Key` a repeat within a day does nothing twice and is answered alike, 422 included, with \
        `Idempotency-Replayed: true`; other failures free the key.
        """

    static let idempotencyKey = Parameter.header(
        "Idempotency-Key",
        .text(min: 1, max: 255, pattern: "^[!-~]+$"),
        "1 to 255 visible ASCII characters, with or without the quotes of a structured field."
    )

    static let replayed: (name: String, schema: Schema, text: String) = (
        "Idempotency-Replayed", .text(oneOf: ["true"]), "Present when the answer is an earlier one."
    )

    private static let scheduledID = Parameter.path(
        "messageId",
        .named("MessageId"),
        "An id that the notification has or had.",
        example: CommonSchemas.exampleID
    )

    private static let exampleReceipt: JSONValue = [
        "messageId": CommonSchemas.exampleID, "jobId": CommonSchemas.exampleID, "duplicate": false,
    ]

    private static let enqueueRefusals = [
        Refusal(400, ["invalid-idempotency-key"], "The key is not acceptable."),
        Refusal(
            409,
            ["idempotency-key-running", "idempotency-key-incomplete"],
            "A request with this key is running (`Retry-After`), or left nothing to go on with."
        ),
        Refusal(422, ["unknown-category", "idempotency-key-reused"], "The key was used for another request."),
    ]
}
