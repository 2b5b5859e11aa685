import Kernel

extension RouteDescription {
    /// `POST /api/v1/notifications/dev/ping`
    static let ping = development(
        "devPing",
        "Past bus, engine and caps; tells what the provider said to each device.",
        answer: .data(
            200,
            "What became of it.",
            .object([
                .required("messageId", .named("MessageId")), .required("permission", .flag()),
                .required(
                    "devices",
                    .list(
                        of: .object([
                            .required("device", .integer()), .required("provider", .text()),
                            .required("environment", .text()), .required("result", .text()),
                            .required("reason", .text().orNull),
                        ])
                    )
                ),
            ]),
            example: [
                "messageId": CommonSchemas.exampleID, "permission": true,
                "devices": [
                    ["device": 1, "provider": "apns", "environment": "sandbox", "result": "accepted", "reason": nil]
                ],
            ]
        ),
        refusals: [Refusal(409, ["no-device"], "The user has no device with a usable token.")]
    )

    /// `POST /api/v1/notifications/dev/test-consent`
    static let testConsent = development(
        "devTestConsent",
        "Changes nothing.",
        members: [.optional("category", Schema.named("CategoryId").orNull)],
        answer: .data(
            200,
            "The verdict of every category at this moment.",
            .object([
                .required("userId", .named("UserId")), .required("checkedAt", .moment().orNull),
                .required("permission", .flag()), .required("devices", .integer(min: 0)),
                .required("silenceUntil", .moment().orNull), .required("language", .text().orNull),
                .required("localMinute", .integer("Minute of the user's day.", min: 0, max: 1439)),
                .required("weekKey", .text()),
                .required(
                    "globalCap",
                    .object([.required("used", .integer()), .required("limit", .integer())])
                ),
                .required("categories", .map(of: verdict)),
            ]),
            example: [
                "userId": "user-1", "checkedAt": CommonSchemas.exampleTime, "permission": true, "devices": 1,
                "silenceUntil": nil, "language": "nb", "localMinute": 570, "weekKey": "2026-W49",
                "globalCap": ["used": 0, "limit": 4],
                "categories": [
                    "reminder": [
                        "allowed": true, "blockedBy": nil, "enabled": true, "usedThisWeek": 0, "maxPerWeek": 1,
                        "insideWindow": true, "nextOpening": nil,
                    ]
                ],
            ]
        )
    )

    /// `POST /api/v1/notifications/dev/trigger-v2`
    static let trigger = development(
        "devTrigger",
        """
        `generate` answers the words and enqueues nothing, `deliver` enqueues, `both` does both. Without `body` and `text` the words are \
        those that the category's producer would say to this user now; when it would say nothing, `silent` tells why and nothing is \
        enqueued.
        """,
        members: [
            .optional("mode", .text("`deliver` by default.", oneOf: ["deliver", "generate", "both"]).orNull),
            .optional("category", .text().orNull), .optional("body", .text().orNull),
            .optional("text", .anything("As in an order.")),
        ],
        answer: .data(202, "Enqueued.", triggered, example: exampleTrigger),
        refusals: [Refusal(422, ["unknown-category"], "There is no such category.")],
        also: .data(
            200,
            "With `generate`: the words. With any mode: nothing, and why.",
            triggered,
            example: ["mode": "generate", "generated": nil]
        ),
        example: ["userId": "user-1", "category": "lifecycle", "body": "Test", "mode": "deliver"]
    )

    /// `POST /api/v1/notifications/dev/reset`
    static let reset = development(
        "devReset",
        "Of this one user.",
        answer: .data(
            200,
            "Cleared.",
            .object([
                .required("userId", .named("UserId")), .required("weekKey", .text()), .required("reset", .flag()),
            ]),
            example: ["userId": "user-1", "weekKey": "2026-W49", "reset": true]
        )
    )

    private static func development(
        _ operation: String,
        _ detail: String,
        members: [Schema.Member] = [],
        answer: Answer,
        refusals: [Refusal] = [],
        also: Answer? = nil,
        example: JSONValue = ["userId": "user-1"]
    ) -> RouteDescription {
        RouteDescription(
            operation,
            .development,
            "\(detail) Exists only where a development token is set. Without an access token the body names the user.",
            body: Body(
                .object([.optional("userId", .text("Does not count beside an access token.").orNull)] + members),
                isRequired: false,
                examples: [("user", example)]
            ),
            answers: [also, answer].compactMap(\.self),
            refusals: refusals
        )
    }

    private static let verdict = Schema.object([
        .required("allowed", .flag()), .required("blockedBy", .text("The first gate that refuses.").orNull),
        .required("enabled", .flag()), .required("usedThisWeek", .integer()), .required("maxPerWeek", .integer()),
        .required("insideWindow", .flag()), .required("nextOpening", .moment().orNull),
    ])

    private static let triggered = Schema.object([
        .required("mode", .text(oneOf: ["deliver", "generate", "both"])),
        .optional("generated", .anything("The words as the device would show them.")),
        .optional("silent", .text("Why the category's producer would say nothing.")),
        .optional("messageId", .named("MessageId")), .optional("jobId", .text()), .optional("duplicate", .flag()),
    ])

    private static let exampleTrigger: JSONValue = [
        "mode": "deliver", "messageId": CommonSchemas.exampleID, "jobId": CommonSchemas.exampleID, "duplicate": false,
    ]
}
