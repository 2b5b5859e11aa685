import Kernel
import Notifications

extension RouteDescription {
    static let campaignInPath = Parameter.path(
        "campaignId",
        .text("The campaign's id.", format: "uuid"),
        "The campaign.",
        example: CommonSchemas.exampleID
    )
    static let noSuchCampaign = Refusal(404, ["no-such-campaign"], "There is no such campaign.")
    private static let wrongState = Refusal(
        409,
        ["campaign-state", "campaign-version"],
        "The campaign's state does not allow it, or the content has another version than the one that was read."
    )
    private static let seenVersion = Schema.Member.optional(
        "version",
        .integer("The version that was read; if the campaign has another one by now, nothing happens.", min: 1).orNull
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
    static let campaignPages: [Parameter] = [
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
        ] + campaignPages,
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
        answers: [
            campaign(201, "A draft.").leading(
                to: [
                    "getCampaign", "editCampaign", "deleteCampaign", "previewCampaign", "scheduleCampaign",
                    "unscheduleCampaign", "startCampaign", "stopCampaign", "campaignProgress", "campaignOutcomes",
                    "campaignAudit",
                ],
                by: "campaignId",
                from: "/data/id"
            )
        ],
        refusals: keyRefusals
    )

    static let getCampaign = RouteDescription(
        "getCampaign",
        .campaigns,
        parameters: [campaignInPath],
        answers: [campaign(200, "As it stands.")],
        refusals: [noSuchCampaign]
    )

    static let editCampaign = RouteDescription(
        "editCampaign",
        .campaigns,
        "Members that are not given stay as they are. With `version`, only if nobody changed it since.",
        parameters: [campaignInPath],
        body: Body(
            .object([Self.seenVersion]),
            examples: [("name", ["name": "Winter 2", "version": 1])]
        ),
        answers: [campaign(200, "Changed.")],
        refusals: [noSuchCampaign, wrongState]
    )

    static let deleteCampaign = RouteDescription(
        "deleteCampaign",
        .campaigns,
        "Only a draft. Its audit stays.",
        parameters: [campaignInPath],
        answers: [Answer(204, "It is gone.")],
        refusals: [noSuchCampaign, wrongState]
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
            campaignInPath, .query("mode", .text(oneOf: ["replace", "add"]), "`replace` by default."),
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
            noSuchCampaign, wrongState, Refusal(413, ["body-too-large"], "Send the list in parts."),
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
        parameters: [campaignInPath, idempotencyKey],
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
        refusals: keyRefusals + [noSuchCampaign, wrongState]
    )

    static let scheduleCampaign = RouteDescription(
        "scheduleCampaign",
        .campaigns,
        """
        `at` is one moment everywhere; `localTime` is what the wall shows in each user's zone, and where it has shown it already \
        they get it at once. Users of unknown zone get it between 12 and 17 o'clock of the default zone.
        """,
        parameters: [campaignInPath],
        body: Body(
            .object([
                .optional("at", .moment("At most 90 days ahead. The past means now.").orNull),
                .optional("localTime", .text("Such as `2026-12-24T09:30`.").orNull), Self.seenVersion,
            ]),
            examples: [("moment", ["at": CommonSchemas.exampleTime])]
        ),
        answers: [campaign(200, "Scheduled.")],
        refusals: [noSuchCampaign, wrongState]
    )

    static let unscheduleCampaign = RouteDescription(
        "unscheduleCampaign",
        .campaigns,
        parameters: [campaignInPath],
        answers: [campaign(200, "A draft again.")],
        refusals: [noSuchCampaign, wrongState]
    )

    static let startCampaign = RouteDescription(
        "startCampaign",
        .campaigns,
        "The campaign producer begins within a second.",
        parameters: [campaignInPath],
        body: Body(.object([Self.seenVersion]), isRequired: false, examples: [("seen", ["version": 1])]),
        answers: [campaign(200, "Scheduled for now.")],
        refusals: [
            noSuchCampaign, wrongState,
            Refusal(
                422,
                ["invalid-request"],
                "Its pace is so low that it would take too long, or it has a list that it does not use."
            ),
        ]
    )

    static let stopCampaign = RouteDescription(
        "stopCampaign",
        .campaigns,
        """
        Nothing more is enqueued, and what is queued ends as cancelled. Of what a worker holds at this moment some may still be \
        sent, for seconds. Stopping again is harmless, and a campaign that was sent can be stopped too.
        """,
        parameters: [campaignInPath],
        answers: [campaign(200, "Stopped.")],
        refusals: [noSuchCampaign, wrongState]
    )
}
