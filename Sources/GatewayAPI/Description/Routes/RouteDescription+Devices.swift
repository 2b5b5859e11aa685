import Kernel
import Notifications

extension RouteDescription {
    /// `POST /api/v1/notifications/device-token`
    static let registerDevice = RouteDescription(
        "registerDevice",
        .devices,
        """
        Call it after login, at every start and return to the foreground, and when the push token, the permission, the time zone \
        or the push-to-start token changes. With a valid access token the device becomes the user's: a token moves to them \
        wherever it was, and a new token for the same `deviceId` replaces the old. Without one only rows tied to nobody are made \
        or renewed, and the answer is the same. An empty or missing `token` updates the other fields and answers `null`.
        """,
        body: Body(registration, examples: [("ios", exampleDevice), ("withoutToken", ["timezone": "Europe/Oslo"])]),
        answers: [
            .data(
                200,
                "What was registered, or null without a token.",
                Schema.object([
                    .required("deviceId", .text().orNull), .required("platform", .text()),
                    .required("provider", .text(oneOf: PushProvider.allCases.map(\.rawValue))),
                    .required("environment", .text(oneOf: PushEnvironment.allCases.map(\.rawValue))),
                    .required("permissionStatus", permissionStatus.orNull),
                ])
                .orNull,
                example: [
                    "deviceId": "iphone-15-pro-max", "platform": "ios", "provider": "apns",
                    "environment": "production", "permissionStatus": "granted",
                ]
            )
        ],
        refusals: [Refusal(429, ["too-many-registrations"], "This address registers devices too often.")]
    )

    /// `DELETE /api/v1/notifications/device-token/{token}`
    static let unregisterDevice = RouteDescription(
        "unregisterDevice",
        .devices,
        "At logout. Only the caller's own device goes; in every other case, without a valid token too, the answer is the same.",
        parameters: [
            .path(
                "token",
                .text(min: 1, pattern: #"^[^\x00-\x1F\x7F]+$"#),
                "The push token.",
                example: "fcm-token"
            )
        ],
        answers: [Answer(204, "The caller has no device with this token.")]
    )

    static let permissionStatus = Schema.text(
        "What the system says about push permission; a token without one means granted.",
        oneOf: PermissionStatus.allCases.map(\.rawValue)
    )

    static let exampleDevice: JSONValue = [
        "token": "740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad", "platform": "ios",
        "deviceId": "iphone-15-pro-max", "timezone": "Europe/Istanbul", "permissionStatus": "granted",
    ]

    /// Text of the kind that holds no control characters.
    static func plain(_ description: String, max: Int) -> Schema {
        .text(description, max: max, pattern: #"^[^\x00-\x1F\x7F]*$"#)
    }

    private static let registration = Schema.object([
        .optional("token", plain("The push token. APNs tokens are hexadecimal, FCM's are opaque.", max: 4096).orNull),
        .optional("platform", plain("Such as `ios`, the default.", max: 32).orNull),
        .optional("deviceId", plain("The app's own name for the device.", max: 256).orNull),
        .optional("timezone", plain("An IANA name; an unknown one changes nothing.", max: 64).orNull),
        .optional("liveActivityPushToStartToken", plain("ActivityKit's push-to-start token.", max: 4096).orNull),
        .optional("voipToken", plain("The PushKit token, for calls.", max: 4096).orNull),
        .optional("permissionStatus", permissionStatus.orNull),
        .optional(
            "provider",
            .text("Concluded from the token when missing.", oneOf: PushProvider.allCases.map(\.rawValue)).orNull
        ),
        .optional(
            "environment",
            .text("The server's own when missing.", oneOf: PushEnvironment.allCases.map(\.rawValue)).orNull
        ),
        .optional("topic", plain("The app's bundle id; the server's own when missing.", max: 255).orNull),
    ])
}
