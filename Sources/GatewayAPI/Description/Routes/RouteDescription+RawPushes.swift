import Kernel
import Notifications

extension RouteDescription {
    /// `POST /api/v1/pushes`
    static let rawPush = RouteDescription(
        "sendRawPush",
        .liveActivities,
        """
        Wakes the app (`background`: nothing is shown, priority 5, about two or three an hour and device) or rings (`voip`: to the \
        PushKit token that the app registered as `voipToken`). No permission, category, silence or cap is asked. \(directText) \
        \(idempotencyText)
        """,
        parameters: [idempotencyKey],
        body: Body(
            .object([
                .required("userId", .named("UserId")),
                .required("type", .text(oneOf: RawPushOrder.Kind.allCases.map(\.rawValue))),
                .optional("deviceId", plain("One of the user's devices; all when missing.", max: 256).orNull),
                .optional(
                    "data",
                    Schema.map(
                        of: .anything(),
                        """
                        The app's own members, beside `aps`; with it at most 4,096 bytes, of a call 5,120. FCM takes texts alone. A \
                        call must have some.
                        """
                    )
                    .orNull
                ),
                .optional(
                    "expiresAt",
                    .moment("When the provider stops trying; a call without it is tried once.").orNull
                ),
            ]),
            examples: [
                ("background", ["userId": "user-1", "type": "background", "data": ["sync": "orders"]]),
                ("call", ["userId": "user-1", "type": "voip", "data": ["callId": "c-7", "caller": "Ada"]]),
            ]
        ),
        answers: [
            .data(
                200,
                "What became of each push.",
                .object([
                    .required("messageId", .named("MessageId")),
                    .required("type", .text(oneOf: RawPushOrder.Kind.allCases.map(\.rawValue))),
                    .required("pushes", pushCounts), .required("devices", .list(of: pushResult)),
                ]),
                example: [
                    "messageId": CommonSchemas.exampleID, "type": "background", "pushes": exampleCounts,
                    "devices": [
                        [
                            "userId": "user-1", "deviceId": "iphone-15-pro-max", "provider": "apns",
                            "environment": "production", "result": "accepted", "reason": .null,
                        ]
                    ],
                ],
                headers: [replayed]
            )
        ],
        refusals: directRefusals + [Refusal(409, ["no-device"], "The user has no device with such a token.")]
    )

    // MARK: What every push past the queue has

    static let directText = """
        It goes straight to the provider and is answered within ten seconds; a push without an outcome by then is `pending` and goes on. \
        Dead tokens are forgotten.
        """

    static let pushCounts = Schema.object(
        ["total"].map { Schema.Member.required($0, .integer(min: 0)) }
            + DirectAnswer.words.map { .required($0, .integer(min: 0)) },
        "How many pushes, and how many of them by result."
    )

    static let pushResult = Schema.object([
        .required("userId", .text()), .required("deviceId", .text().orNull),
        .required("provider", .text(oneOf: PushProvider.allCases.map(\.rawValue))),
        .required("environment", .text(oneOf: PushEnvironment.allCases.map(\.rawValue))),
        .required("result", .text(oneOf: DirectAnswer.words)),
        .required("reason", .text("The provider's word, or ours.").orNull),
        .optional("retryAfter", .integer("Seconds.", min: 1)),
    ])

    static let exampleCounts = JSONValue.object(
        [JSONMember("total", 1), JSONMember("accepted", 1)] + DirectAnswer.words.dropFirst().map { JSONMember($0, 0) }
    )

    static let directRefusals = [
        Refusal(400, ["invalid-idempotency-key"], "The key is not acceptable."),
        Refusal(
            409,
            ["idempotency-key-running", "idempotency-key-incomplete"],
            "A request with this key is still running, or left no ids."
        ),
        Refusal(
            422,
            ["payload-too-large", "idempotency-key-reused"],
            "The push is too large, or the key was used for another request."
        ),
        Refusal(
            503,
            ["push-not-configured", "push-unavailable", "too-many-pushes"],
            "There is no credential for the provider, the provider cannot be reached, or too many pushes are without an answer."
        ),
    ]
}
