import Kernel
import NotificationContract
import Notifications

/// The named schemas that several routes share.
enum CommonSchemas {
    /// All of them, by what the configuration allows.
    static func all(_ rules: GatewayRules) -> [(name: String, schema: Schema)] {
        [
            ("Problem", problem), ("Pagination", pagination), ("UserId", userID), ("MessageId", messageID),
            ("CategoryId", category(rules.registry)), ("DeeplinkUrl", deeplink(rules.deeplinkSchemes)),
            ("NotificationOrder", order), ("NotificationReceipt", receipt), ("InboxItem", inboxItem),
            ("Preferences", preferences), ("CampaignContent", CampaignSchemas.content),
            ("Campaign", CampaignSchemas.campaign), ("MessageStory", story), ("MessageEvent", event),
        ]
    }

    static let userID = Schema.text(
        "A user's id, as the access token's `sub` names it.",
        min: 1,
        max: 128,
        pattern: #"^[A-Za-z0-9._|@:+-]{1,128}$"#
    )

    static let messageID = Schema.text(
        "A UUID of version 7. It is the message's id, its job's, and the `apns-id` of its pushes.",
        pattern: "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-7[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$",
        format: "uuid"
    )

    static let exampleID: JSONValue = "019ae1c0-4c00-7b3a-9d2e-5f0c1a2b3c4d"
    static let exampleTime: JSONValue = "2026-12-02T08:30:00.000Z"

    private static func category(_ registry: CategoryRegistry) -> Schema {
        .text("A category of the registry.", oneOf: registry.all.map(\.id.rawValue))
    }

    private static func deeplink(_ schemes: Set<String>) -> Schema {
        let choices = schemes.sorted().joined(separator: "|")
        return .text(
            "Where a tap leads: at most \(NotificationLimits.deeplink) bytes, no spaces or control characters.",
            min: 2,
            max: NotificationLimits.deeplink,
            pattern: "^(\(choices)):[!-~]*$"
        )
    }

    private static let problem = Schema.object(
        [
            .required(
                "type",
                .text("`urn:varsel:problem:<slug>`, stable for programs.", pattern: "^urn:varsel:problem:")
            ),
            .required("title", .text()), .required("status", .integer(min: 400, max: 599)),
            .optional("detail", .text("What was wrong this time, and what would be right.")),
            .optional("pointer", .text("JSON pointer to the member at fault, the first one's when there are several.")),
            .optional(
                "errors",
                .list(
                    of: .object([.required("pointer", .text()), .required("detail", .text())]),
                    "Every fault, when there is more than one."
                )
            ),
            .required("requestId", .text()),
        ],
        "Problem details (RFC 9457)."
    )

    private static let pagination = Schema.object([
        .required("page", .integer(min: 1)), .required("limit", .integer(min: 1, max: PageRequest.maximumLimit)),
        .required("total", .integer(min: 0)), .required("totalPages", .integer(min: 0)),
        .required("hasNext", .flag()),
    ])

    /// A member that may be null, which counts as absent.
    private static func absent(_ name: String, _ schema: Schema) -> Schema.Member { .optional(name, schema.orNull) }

    private static let order = Schema.allOf([
        .object(
            [
                .required("userId", .named("UserId")), .required("category", .named("CategoryId")),
                .optional(
                    "body",
                    .text(
                        "Words of its own (scope `notifications:literal`), at most \(NotificationLimits.body) bytes, not only white space.",
                        min: 1,
                        max: NotificationLimits.body,
                        pattern: #"\S"#
                    )
                ),
                .optional(
                    "text",
                    .object(
                        [
                            .required("key", .text("A key of the catalog.")),
                            absent(
                                "variables",
                                .map(
                                    of: .text(max: NotificationLimits.catalogVariable),
                                    "Exactly the placeholders of the text.",
                                    max: NotificationLimits.catalogVariables
                                )
                            ),
                        ],
                        "A text of the catalog, rendered in the user's language when it is delivered."
                    )
                ),
                absent(
                    "title",
                    .text(
                        "Instead of the category's; needs `notifications:literal`. At most \(NotificationLimits.title) bytes.",
                        max: NotificationLimits.title
                    )
                ),
                absent("deeplinkUrl", .named("DeeplinkUrl")),
                absent(
                    "metadata",
                    .map(
                        of: .anything(),
                        "For the inbox, never in a push. At most \(NotificationLimits.metadata) bytes as JSON."
                    )
                ),
                absent(
                    "sourceEntityId",
                    .text(
                        "What it is about; the handle by which it can be superseded.",
                        min: 1,
                        max: NotificationLimits.sourceEntityID,
                        pattern: "^[A-Za-z0-9_:.-]+$"
                    )
                ),
                absent("languageCode", .text("A BCP 47 tag instead of the user's language.", max: 35)),
                absent("batchRef", .text("A reference that messages of one run share.", max: 128)),
                absent(
                    "scheduledFor",
                    .moment("When it is due, at most 90 days ahead. The past means now.")
                ),
                absent(
                    "priority",
                    .integer(
                        "BullMQ's priority instead of the category's; 1 is the most urgent.",
                        min: 1,
                        max: 2_097_151
                    )
                ),
            ],
            "One notification: `body` or `text`, not both."
        ),
        .exactlyOne(of: ["body", "text"]),
    ])

    private static let receipt = Schema.object([
        .required("messageId", .named("MessageId")), .required("jobId", .text("The job's id in BullMQ.")),
        .required("duplicate", .flag("Whether the queue had it already.")),
    ])

    private static let inboxItem = Schema.object([
        .required("id", .named("MessageId")), .required("category", .text()), .required("title", .text()),
        .required("body", .text()), .required("deeplinkUrl", .text()),
        .required("metadata", .anything("What the producer gave, or null.")), .required("isRead", .flag()),
        .required("readAt", .moment().orNull), .required("createdAt", .moment()),
    ])

    private static let preferences = Schema.object([
        .required("permissionStatus", .text(oneOf: ["granted", "denied", "notDetermined"])),
        .required(
            "categories",
            .map(of: .object([.required("enabled", .flag()), .required("lastSentAt", .moment().orNull)]))
        ),
        .required("timezone", .text("An IANA name.").orNull), .required("language", .text().orNull),
        .required("silenceUntil", .moment().orNull),
    ])

    private static let event = Schema.object([
        .required("kind", .text(oneOf: DeliveryEvent.Kind.allCases.map(\.rawValue))), .required("at", .moment()),
        .required("gate", .text("The gate that decided.").orNull), .required("reason", .text().orNull),
        .required("jobId", .text()), .required("ats", .integer("How often the job was taken up.")),
        .required("attempt", .integer("The delivery attempt, 0 before the first.")),
        .required("device", .text("Row id and first characters of the token.").orNull),
        .required("detail", .anything()),
    ])

    private static let story = Schema.object([
        .required("messageId", .named("MessageId")), .required("userId", .text()),
        .required("category", .text().orNull),
        .required("scheduledFor", .moment("For one that was handed in with a time ahead.").orNull),
        .required(
            "message",
            Schema.object(
                [
                    .required("status", .text(oneOf: MessageStatus.allCases.map(\.rawValue))),
                    .required("reason", .text().orNull), .required("weekKey", .text().orNull),
                    .required("createdAt", .moment()), .required("sentAt", .moment().orNull),
                    .required("readAt", .moment().orNull), .required("deliveries", .anything("Answers by device.")),
                ],
                "The row; null for one that was not written."
            )
            .orNull
        ),
        .required("events", .list(of: .named("MessageEvent"), "The oldest first.")),
    ])
}
