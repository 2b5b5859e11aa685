import Kernel
import Notifications

extension RouteDescription {
    /// `POST /api/v1/notifications/live-activity-sessions`
    static let registerSession = RouteDescription(
        "registerLiveActivitySession",
        .liveActivities,
        """
        Call it when ActivityKit hands the app an activity's push token, and again with each new one. One session a stream and \
        device; a token that another session held moves here. Of a user's sessions the newest 32 are kept.
        """,
        body: Body(
            .object([
                .required("streamId", streamID),
                .required("deviceId", .text("The app's own name for the device.", min: 1, max: 256)),
                .required("liveActivityToken", .text("The activity's push token.", min: 1, max: 4096)),
                .optional("activityId", plain("ActivityKit's name for the activity.", max: 256).orNull),
                .optional(
                    "environment",
                    .text("The device's when missing.", oneOf: PushEnvironment.allCases.map(\.rawValue)).orNull
                ),
                .optional("topic", plain("The app's bundle id; the device's when missing.", max: 255).orNull),
            ]),
            examples: [
                (
                    "order",
                    [
                        "streamId": exampleStream, "deviceId": "iphone-15-pro-max",
                        "liveActivityToken": "80c1f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78a",
                        "activityId": "4E8B2C1A",
                    ]
                )
            ]
        ),
        answers: [
            .data(
                200,
                "The session.",
                .object([
                    .required("streamId", .text()), .required("deviceId", .text()),
                    .required("activityId", .text().orNull),
                ]),
                example: ["streamId": exampleStream, "deviceId": "iphone-15-pro-max", "activityId": "4E8B2C1A"]
            )
        ]
    )

    /// What may stand in a path: a session of any other name is not there.
    private static let inPath = Schema.text(min: 1, pattern: #"^[^\u0000-\u001f\u007f]+$"#)

    /// `DELETE /api/v1/notifications/live-activity-sessions/{streamId}/{deviceId}`
    static let removeSession = RouteDescription(
        "removeLiveActivitySession",
        .liveActivities,
        "When the activity is over or the user dismissed it. A session that is not there is answered the same.",
        parameters: [
            .path("streamId", inPath, "The stream.", example: exampleStream),
            .path("deviceId", inPath, "The app's own name for the device.", example: "iphone-15-pro-max"),
        ],
        answers: [Answer(204, "The caller has no such session.")]
    )

    /// `POST /api/v1/live-activities/{streamId}/start`
    static let startActivity = activity(
        "startLiveActivity",
        """
        Sent to the push-to-start tokens of these users (iOS 17.2 and later), at most five devices each. The app reports the new \
        activity's own token as a session of the stream, so the stream's id belongs into the attributes.
        """,
        members: [
            .required("userIds", .list(of: .named("UserId"), min: 1, max: LiveActivityOrder.userLimit)),
            .required("attributesType", .text("The Swift name of the `ActivityAttributes` type.", min: 1, max: 128)),
            .required("attributes", .map(of: .anything(), "Decoded by that type.")),
            .required("contentState", contentState), .required("alert", alert),
            .optional(
                "input",
                Schema.anyOf(
                    [
                        .text(oneOf: ["token", "none"]),
                        .object([.required("channel", .text("Base64.", min: 1, max: 256))]), .null,
                    ],
                    "Where updates come from: a token of its own (the default), what the app asks for, or a channel (iOS 18)."
                )
            ),
        ],
        example: [
            "userIds": ["user-1"], "attributesType": "OrderAttributes", "attributes": ["streamId": exampleStream],
            "contentState": ["status": "cooking"], "alert": ["title": "Your order", "body": "It is being cooked"],
        ],
        answered: [
            .required("usersWithoutToken", .list(of: .text(), "Named users whom no activity can be started for."))
        ],
        exampleEnd: [JSONMember("usersWithoutToken", [])]
    )

    /// `POST /api/v1/live-activities/{streamId}/update`
    static let updateActivity = activity(
        "updateLiveActivity",
        "Sent to the sessions of the stream. \(pagesText)",
        members: [.required("contentState", contentState), .optional("alert", alert.orNull)] + pageMembers,
        example: ["contentState": ["status": "on its way"], "priority": 5],
        answered: [.required("cursor", cursor)],
        exampleEnd: [JSONMember("cursor", .null)]
    )

    /// `POST /api/v1/live-activities/{streamId}/end`
    static let endActivity = activity(
        "endLiveActivity",
        "Sent to the sessions of the stream; those that Apple accepted are over. \(pagesText)",
        members: [
            .optional("contentState", contentState.orNull),
            .optional("dismissalDate", .moment("When it leaves the lock screen; the past means now.").orNull),
        ] + pageMembers,
        example: ["contentState": ["status": "delivered"], "dismissalDate": CommonSchemas.exampleTime],
        answered: [.required("cursor", cursor)],
        exampleEnd: [JSONMember("cursor", .null)]
    )

    // MARK: Parts

    private static let exampleStream: JSONValue = "65f000000000000000000001"
    private static let streamID = Schema.text(
        "What the activity shows, such as an order or a match.",
        min: 1,
        max: 128,
        pattern: #"^[A-Za-z0-9._|@:+-]{1,128}$"#
    )
    private static let contentState = Schema.map(
        of: .anything(),
        "Decoded by the app with Swift's default strategies; its dates are seconds since 2001."
    )
    private static let alert = Schema.map(
        of: .anything(),
        "`title` and `body`, texts or `loc-key` objects, and `sound`."
    )
    private static let cursor = Schema.text("Where the next page begins; null after the last one.").orNull
    private static let pagesText = """
        One call reaches at most \(LiveActivityOrder.pageLimit) sessions; while `cursor` is not null, send the same body again with it \
        and, where used, a new `Idempotency-Key`.
        """
    private static let pageMembers: [Schema.Member] = [
        .optional(
            "userIds",
            Schema.list(of: .named("UserId"), "Only sessions of these users.", min: 1, max: LiveActivityOrder.userLimit)
                .orNull
        ),
        .optional("cursor", .text("From the answer before.", max: SessionCursor.textLimit).orNull),
        .optional("limit", Schema.integer(min: 1, max: LiveActivityOrder.pageLimit).orNull),
    ]

    private static func activity(
        _ operation: String,
        _ text: String,
        members: [Schema.Member],
        example: JSONValue,
        answered: [Schema.Member],
        exampleEnd: [JSONMember]
    ) -> RouteDescription {
        let shared: [Schema.Member] = [
            .optional("timestamp", .moment("When this was so; now when missing.").orNull),
            .optional("staleDate", .moment("From when on the device shows it as outdated.").orNull),
            .optional("relevanceScore", Schema.number("The highest gets the Dynamic Island.").orNull),
            .optional(
                "priority",
                Schema.integer("10, the default, counts against the device's budget; 5 does not.", min: 5, max: 10)
                    .orNull
            ), .optional("expiresAt", .moment("When Apple stops trying.").orNull),
        ]
        return RouteDescription(
            operation,
            .liveActivities,
            "\(text) \(directText) \(idempotencyText)",
            parameters: [.path("streamId", streamID, "The stream.", example: exampleStream), idempotencyKey],
            body: Body(.object(members + shared), examples: [("order", example)]),
            answers: [
                .data(
                    200,
                    "What became of each push.",
                    .object(
                        [
                            .required("streamId", .text()),
                            .required("event", .text(oneOf: ["start", "update", "end"])),
                            .required("messageId", .named("MessageId")), .required("timestamp", .moment()),
                            .required("pushes", pushCounts),
                            .required("failures", .list(of: pushResult, "One for each push that was not accepted.")),
                        ] + answered
                    ),
                    example: .object(
                        [
                            JSONMember("streamId", exampleStream), JSONMember("event", .string(operation.event)),
                            JSONMember("messageId", CommonSchemas.exampleID),
                            JSONMember("timestamp", CommonSchemas.exampleTime),
                            JSONMember("pushes", exampleCounts), JSONMember("failures", []),
                        ] + exampleEnd
                    ),
                    headers: [replayed]
                )
            ],
            refusals: directRefusals + [Refusal(404, ["not-found"], "This cannot be a stream's id.")]
        )
    }
}

extension String {
    /// The event that an operation is about.
    fileprivate var event: String { hasPrefix("start") ? "start" : hasPrefix("update") ? "update" : "end" }
}
