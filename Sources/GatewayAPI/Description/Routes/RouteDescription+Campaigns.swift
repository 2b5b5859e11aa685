import Kernel
import Notifications

extension RouteDescription {
    private static let idInPath = Parameter.path(
        "campaignId",
        .text("The campaign's id.", format: "uuid"),
        "The campaign.",
        example: CommonSchemas.exampleID
    )
    private static let missing = Refusal(404, ["no-such-campaign"], "There is no such campaign.")
    private static let wrongState = Refusal(
        409,
        ["campaign-state"],
        "The campaign's state does not allow it, or the content has another version by now."
    )
    private static let keyRefusals = [
        Refusal(400, ["invalid-idempotency-key"], "The key is not acceptable."),
        Refusal(
            409,
            ["idempotency-key-running", "idempotency-key-incomplete"],
            "A request with this key is running (`Retry-After`), or left nothing to go on with."
        ),
        Refusal(422, ["idempotency-key-reused"], "The key was used for another request."),
    ]
    private static let pages: [Parameter] = [
        .query("page", .integer(min: 1), "From 1, the default."),
        .query("limit", .integer(min: 1, max: PageRequest.maximumLimit), "Entries of a page, 20 by default."),
    ]
    private static let exampleContent: [(String, JSONValue)] = [
        ("name", "Winter"), ("texts", ["en": ["title": "Winter is here", "body": "Have a look."]]),
        ("fallbackLanguage", "en"), ("deeplinkUrl", "im://home"),
        ("audience", ["languages": ["en", "de"], "zones": nil, "platforms": ["ios"], "list": false]),
        ("pacePerMinute", 60_000),
    ]
    private static var exampleDraft: JSONValue { .object(exampleContent.map { JSONMember($0.0, $0.1) }) }
    private static var example: JSONValue {
        let head: [(String, JSONValue)] = [("id", CommonSchemas.exampleID), ("state", "draft"), ("version", 1)]
        let tail: [(String, JSONValue)] = [
            ("startsAt", nil), ("localTime", nil), ("startedAt", nil), ("endedAt", nil), ("users", nil),
            ("batchRef", "cmp:019ae1c0-4c00-7b3a-9d2e-5f0c1a2b3c4d"), ("createdBy", "console"),
            ("createdAt", CommonSchemas.exampleTime), ("updatedAt", CommonSchemas.exampleTime),
        ]
        return .object((head + exampleContent + tail).map { JSONMember($0.0, $0.1) })
    }
    private static func campaign(_ status: Int, _ text: String) -> Answer {
        .data(status, text, .named("Campaign"), example: example)
    }

    static let listCampaigns = RouteDescription(
        "listCampaigns",
        .campaigns,
        parameters: [
            .query("state", .text(oneOf: CampaignState.allCases.map(\.rawValue)), "Only those in this state.")
        ] + pages,
        answers: [
            .data(
                200,
                "A page.",
                .object([
                    .required("campaigns", .list(of: .named("Campaign"))),
                    .required("pagination", .named("Pagination")),
                ]),
                example: [
                    "campaigns": [example],
                    "pagination": ["page": 1, "limit": 20, "total": 1, "totalPages": 1, "hasNext": false],
                ]
            )
        ]
    )

    static let createCampaign = RouteDescription(
        "createCampaign",
        .campaigns,
        "A text for each language, one of them for everybody else. \(idempotencyText)",
        parameters: [idempotencyKey],
        body: Body(.named("CampaignContent"), examples: [("winter", exampleDraft)]),
        answers: [campaign(201, "A draft.")],
        refusals: keyRefusals
    )

    static let getCampaign = RouteDescription(
        "getCampaign",
        .campaigns,
        parameters: [idInPath],
        answers: [campaign(200, "As it stands.")],
        refusals: [missing]
    )

    static let editCampaign = RouteDescription(
        "editCampaign",
        .campaigns,
        "Members that are not given stay as they are. With `version`, only if nobody changed it since.",
        parameters: [idInPath],
        body: Body(
            .object([.optional("version", .integer("The version that was read.", min: 1).orNull)]),
            examples: [("name", ["name": "Winter 2", "version": 1])]
        ),
        answers: [campaign(200, "Changed.")],
        refusals: [missing, wrongState]
    )

    static let deleteCampaign = RouteDescription(
        "deleteCampaign",
        .campaigns,
        "Only a draft. Its audit stays.",
        parameters: [idInPath],
        answers: [Answer(204, "It is gone.")],
        refusals: [missing, wrongState]
    )

    static let uploadCampaignList = RouteDescription(
        "uploadCampaignList",
        .campaigns,
        """
        `text/csv` in UTF-8, at most \(CampaignRoutes.listBytes / 1_048_576) MiB a request: one user id a line, or the first \
        column; a heading `userId` is passed over. A longer list comes in parts with `mode=add`, up to \
        \(CampaignRoutes.longestList) users. Lines that name no user are left out and told by number. The list counts when the \
        audience has `"list": true`.
        """,
        parameters: [
            idInPath, .query("mode", .text(oneOf: ["replace", "add"]), "`replace` by default."),
        ],
        answers: [
            .data(
                200,
                "Taken.",
                .object([
                    .required("accepted", .integer("Users of this request.", min: 0)),
                    .required("repeated", .integer("Lines that named one of them again.", min: 0)),
                    .required("refused", .integer("Lines that name no user.", min: 0)),
                    .required(
                        "faults",
                        .list(of: .object([.required("line", .integer(min: 1)), .required("problem", .text())]))
                    ),
                    .required("users", .integer("Users of the whole list.", min: 0)),
                ]),
                example: ["accepted": 2, "repeated": 0, "refused": 0, "faults": [], "users": 2]
            )
        ],
        refusals: [
            missing, wrongState, Refusal(413, ["body-too-large"], "Send the list in parts."),
            Refusal(415, ["unsupported-media-type"], "The list must be `text/csv`."),
            Refusal(422, ["list-too-long"], "The list would have too many users."),
        ]
    )

    static let testCampaign = RouteDescription(
        "testCampaign",
        .campaigns,
        """
        Past the users' switch and the weekly caps, but not past permission, silence and the window. Such a message is in no \
        inbox. \(idempotencyText)
        """,
        parameters: [idInPath, idempotencyKey],
        body: Body(
            .object([
                .required("users", .list(of: .named("UserId"), min: 1, max: CampaignRoutes.mostTestUsers))
            ]),
            examples: [("two", ["users": ["user-1", "user-2"]])]
        ),
        answers: [
            .data(
                202,
                "Enqueued.",
                .object([.required("notifications", .list(of: .named("NotificationReceipt")))]),
                example: [
                    "notifications": [
                        [
                            "messageId": CommonSchemas.exampleID, "jobId": CommonSchemas.exampleID, "duplicate": false,
                        ]
                    ]
                ]
            )
        ],
        refusals: keyRefusals + [missing]
    )

    static let scheduleCampaign = RouteDescription(
        "scheduleCampaign",
        .campaigns,
        """
        `at` is one moment everywhere; `localTime` is what the wall shows in each user's zone, and where it has shown it already \
        they get it at once. Users of unknown zone get it between 12 and 17 o'clock of the default zone.
        """,
        parameters: [idInPath],
        body: Body(
            .object([
                .optional("at", .moment("At most 90 days ahead. The past means now.").orNull),
                .optional("localTime", .text("Such as `2026-12-24T09:30`.").orNull),
            ]),
            examples: [("moment", ["at": CommonSchemas.exampleTime])]
        ),
        answers: [campaign(200, "Scheduled.")],
        refusals: [missing, wrongState]
    )

    static let unscheduleCampaign = RouteDescription(
        "unscheduleCampaign",
        .campaigns,
        parameters: [idInPath],
        answers: [campaign(200, "A draft again.")],
        refusals: [missing, wrongState]
    )

    static let startCampaign = RouteDescription(
        "startCampaign",
        .campaigns,
        "The campaign producer begins within a second.",
        parameters: [idInPath],
        answers: [campaign(200, "Scheduled for now.")],
        refusals: [
            missing, wrongState, Refusal(422, ["invalid-request"], "Its pace is so low that it would take too long."),
        ]
    )

    static let stopCampaign = RouteDescription(
        "stopCampaign",
        .campaigns,
        """
        Nothing more is enqueued, and what is queued ends as cancelled. Of what a worker holds at this moment some may still be \
        sent, for seconds. Stopping again is harmless, and a campaign that was sent can be stopped too.
        """,
        parameters: [idInPath],
        answers: [campaign(200, "Stopped.")],
        refusals: [missing, wrongState]
    )

    static let previewCampaign = RouteDescription(
        "previewCampaign",
        .campaigns,
        "As the audience is now; it is frozen when the campaign begins.",
        parameters: [idInPath],
        answers: [
            .data(
                200,
                "Counts and words.",
                .object([
                    .required("users", .integer("Users of the audience.", min: 0)),
                    .required("reachable", .integer("Those who allow pushes and have campaigns on.", min: 0)),
                    .required("withoutZone", .integer("Those whose zone is not known.", min: 0)),
                    .required(
                        "languages",
                        .list(
                            of: .object([
                                .required("language", .text()), .required("users", .integer(min: 0)),
                                .required("reachable", .integer(min: 0)), .required("title", .text()),
                                .required("body", .text()),
                            ])
                        )
                    ),
                ]),
                example: [
                    "users": 3, "reachable": 1, "withoutZone": 0,
                    "languages": [
                        [
                            "language": "en", "users": 3, "reachable": 1, "title": "Winter is here",
                            "body": "Have a look.",
                        ]
                    ],
                ]
            )
        ],
        refusals: [missing]
    )

    static let campaignProgress = RouteDescription(
        "campaignProgress",
        .campaigns,
        parameters: [idInPath],
        answers: [
            .data(
                200,
                "In users.",
                .object([
                    .required("state", .text(oneOf: CampaignState.allCases.map(\.rawValue))),
                    .required("users", .integer("The frozen audience.", min: 0)),
                    .required("enqueued", .integer("Handed to the queue.", min: 0)),
                    .required("stopped", .integer("Called off before that.", min: 0)),
                    .required("chunks", .integer(min: 0)), .required("enqueuedChunks", .integer(min: 0)),
                    .required("nextDue", .moment("Of the next chunk.").orNull),
                ]),
                example: [
                    "state": "sending", "users": 5000, "enqueued": 2000, "stopped": 0, "chunks": 5, "enqueuedChunks": 2,
                    "nextDue": CommonSchemas.exampleTime,
                ]
            )
        ],
        refusals: [missing]
    )

    static let campaignOutcomes = RouteDescription(
        "campaignOutcomes",
        .campaigns,
        "By the last event of each message. Test sends do not count.",
        parameters: [idInPath],
        answers: [
            .data(
                200,
                "The largest number first.",
                .object([
                    .required(
                        "outcomes",
                        .list(
                            of: .object([
                                .required("outcome", .text("An event's kind.")), .required("reason", .text().orNull),
                                .required("messages", .integer(min: 1)),
                            ])
                        )
                    )
                ]),
                example: [
                    "outcomes": [
                        ["outcome": "sent", "reason": nil, "messages": 900],
                        ["outcome": "suppressed", "reason": "category_off", "messages": 100],
                    ]
                ]
            )
        ],
        refusals: [missing]
    )

    static let campaignAudit = RouteDescription(
        "campaignAudit",
        .campaigns,
        "It stays when a draft is removed.",
        parameters: [idInPath] + pages,
        answers: [
            .data(
                200,
                "The newest first.",
                .object([
                    .required(
                        "entries",
                        .list(
                            of: .object([
                                .required("at", .moment()),
                                .required("credential", .text("Who; `campaign-producer` for what happens by itself.")),
                                .required("action", .text()), .required("detail", .anything()),
                            ])
                        )
                    ),
                    .required("pagination", .named("Pagination")),
                ]),
                example: [
                    "entries": [
                        ["at": CommonSchemas.exampleTime, "credential": "console", "action": "start", "detail": nil]
                    ],
                    "pagination": ["page": 1, "limit": 20, "total": 1, "totalPages": 1, "hasNext": false],
                ]
            )
        ],
        refusals: [missing]
    )
}

/// The named schemas of campaigns.
enum CampaignSchemas {
    static let content = Schema.object(members, "What an operator writes.")

    static let campaign = Schema.object(
        [
            .required("id", .text(format: "uuid")),
            .required("state", .text(oneOf: CampaignState.allCases.map(\.rawValue))),
            .required("version", .integer("Grows with every change of the content.", min: 1)),
        ] + members + [
            .required("startsAt", .moment("When it begins; with a local time, in the first zone.").orNull),
            .required("localTime", .text().orNull), .required("startedAt", .moment().orNull),
            .required("endedAt", .moment().orNull), .required("users", .integer("The frozen audience.").orNull),
            .required("batchRef", .text("Of all its messages.")), .required("createdBy", .text("A credential.")),
            .required("createdAt", .moment()), .required("updatedAt", .moment()),
        ]
    )

    private static let languages = ServerLocale.allCases.map(\.rawValue)

    private static let members: [Schema.Member] = [
        .required("name", .text("For operators; never sent.", min: 1, max: 200)),
        .required(
            "texts",
            .object(
                ServerLocale.allCases.map { locale in
                    .optional(
                        locale.rawValue,
                        .object([
                            .optional("title", .text(max: NotificationLimits.title).orNull),
                            .required("body", .text(min: 1, max: NotificationLimits.body)),
                        ])
                    )
                },
                "By language."
            )
        ),
        .required("fallbackLanguage", .text("Its words are for everybody else.", oneOf: languages)),
        .optional("deeplinkUrl", Schema.named("DeeplinkUrl").orNull),
        .optional(
            "audience",
            Schema.object(
                [
                    .optional("languages", choices(.text(oneOf: languages))),
                    .optional("zones", choices(.text("An IANA name.", min: 1, max: 64))),
                    .optional("platforms", choices(.text("Such as `ios`.", min: 1, max: 64))),
                    .optional("activeWithinDays", days), .optional("inactiveForDays", days),
                    .optional("list", Schema.flag("Only users of the uploaded list.").orNull),
                ],
                "Every criterion that is given must hold."
            )
            .orNull
        ),
        .optional(
            "pacePerMinute",
            Schema.integer(
                "The most users in a minute.",
                min: CampaignReader.paceRange.lowerBound,
                max: CampaignReader.paceRange.upperBound
            )
            .orNull
        ),
    ]

    private static let days = Schema.integer(
        min: CampaignReader.dayRange.lowerBound,
        max: CampaignReader.dayRange.upperBound
    )
    .orNull

    private static func choices(_ schema: Schema) -> Schema {
        Schema.list(of: schema, min: 1, max: CampaignReader.mostChoices).orNull
    }
}
