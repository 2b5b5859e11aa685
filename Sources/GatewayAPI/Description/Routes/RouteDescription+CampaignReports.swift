import Kernel
import Notifications

/// What an operator sees of a campaign: before it, while it is sent, and after.
extension RouteDescription {
    static let previewCampaign = RouteDescription(
        "previewCampaign",
        .campaigns,
        "As the audience is now; it is frozen when the campaign begins.",
        parameters: [campaignInPath],
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
        refusals: [noSuchCampaign]
    )

    static let campaignProgress = RouteDescription(
        "campaignProgress",
        .campaigns,
        parameters: [campaignInPath],
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
        refusals: [noSuchCampaign]
    )

    static let campaignOutcomes = RouteDescription(
        "campaignOutcomes",
        .campaigns,
        "By the last event of each message. Test sends do not count.",
        parameters: [campaignInPath],
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
        refusals: [noSuchCampaign]
    )

    static let campaignAudit = RouteDescription(
        "campaignAudit",
        .campaigns,
        "It stays when a draft is removed.",
        parameters: [campaignInPath] + campaignPages,
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
        refusals: [noSuchCampaign]
    )
}
