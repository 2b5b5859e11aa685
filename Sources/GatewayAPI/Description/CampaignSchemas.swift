import Notifications

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
