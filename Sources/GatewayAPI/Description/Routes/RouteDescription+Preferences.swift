import Kernel
import Notifications

extension RouteDescription {
    /// `GET /api/v1/notifications/preferences`
    static let readPreferences = RouteDescription(
        "getPreferences",
        .preferences,
        "Who never chose anything has the registry's defaults.",
        answers: [.data(200, "What stands now.", .named("Preferences"), example: examplePreferences)]
    )

    /// `PATCH /api/v1/notifications/preferences`
    static let changePreferences = RouteDescription(
        "changePreferences",
        .preferences,
        """
        Members that are missing stay as they are, and one of them must be there. A category that cannot be switched off can only \
        be switched on. A device's registration sets permission and time zone too.
        """,
        body: Body(
            .allOf([
                .object([
                    .optional(
                        "categories",
                        .map(
                            of: .anyOf([.flag(), .object([.required("enabled", .flag())])]),
                            "A switch by category id: `true`, `false` or `{\"enabled\": …}`."
                        )
                        .orNull
                    ),
                    .optional(
                        "silenceUntil",
                        .moment("In the future, within a year; null ends the silence.").orNull
                    ),
                    .optional("permissionStatus", permissionStatus.orNull),
                    .optional("timezone", plain("A known IANA name.", max: 64).orNull),
                    .optional("language", plain("A BCP 47 tag.", max: 35).orNull),
                ]),
                .atLeastOne(of: ["categories", "silenceUntil", "permissionStatus", "timezone", "language"]),
            ]),
            examples: [
                ("switch", ["categories": ["campaign": true]]), ("endSilence", ["silenceUntil": nil]),
                ("zone", ["timezone": "Europe/Oslo", "language": "nb"]),
            ]
        ),
        answers: [.data(200, "What stands now.", .named("Preferences"), example: examplePreferences)]
    )

    /// `GET /api/v1/notifications/categories`
    static let listCategories = RouteDescription(
        "listCategories",
        .preferences,
        "Everything a settings screen needs, in the user's language.",
        parameters: [
            .query(
                "language",
                .text(pattern: #"^[^\x00-\x1F\x7F]*$"#),
                "A BCP 47 tag instead of the user's own.",
                example: "nb-NO"
            )
        ],
        answers: [
            .data(
                200,
                "The categories in the registry's order.",
                .object([
                    .required(
                        "categories",
                        .list(
                            of: .object([
                                .required("id", .text()), .required("name", .text()), .required("icon", .text()),
                                .required("maxPerWeek", .integer(min: 0)), .required("userToggleable", .flag()),
                                .required("enabled", .flag()),
                            ])
                        )
                    )
                ]),
                example: [
                    "categories": [
                        [
                            "id": "reminder", "name": "Påminnelser", "icon": "bell", "maxPerWeek": 1,
                            "userToggleable": true, "enabled": true,
                        ]
                    ]
                ]
            )
        ]
    )

    /// `POST /api/v1/notifications/silence`
    static let beginSilence = RouteDescription(
        "beginSilence",
        .preferences,
        "Without a body, a quiet week from now. Nothing is shown during it, account notices included.",
        body: Body(
            .object([.optional("until", .moment("In the future, within a year.").orNull)]),
            isRequired: false,
            examples: [("week", .object([]))]
        ),
        answers: [.data(200, "What stands now.", .named("Preferences"), example: examplePreferences)]
    )

    /// `DELETE /api/v1/notifications/silence`
    static let endSilence = RouteDescription(
        "endSilence",
        .preferences,
        answers: [.data(200, "What stands now.", .named("Preferences"), example: examplePreferences)]
    )

    static let examplePreferences: JSONValue = [
        "permissionStatus": "granted",
        "categories": [
            "reminder": ["enabled": true, "lastSentAt": CommonSchemas.exampleTime],
            "lifecycle": ["enabled": true, "lastSentAt": nil], "campaign": ["enabled": false, "lastSentAt": nil],
        ],
        "timezone": "Europe/Oslo", "language": "nb", "silenceUntil": nil,
    ]
}
