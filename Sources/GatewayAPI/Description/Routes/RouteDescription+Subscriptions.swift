import Kernel
import Producers

extension RouteDescription {
    static func appStoreWebhook(_ environment: AppStoreEnvironment) -> RouteDescription {
        RouteDescription(
            "appStore\(environment.claim)Webhook",
            .subscriptions,
            """
            App Store Server Notifications V2, as Apple posts them. The signature is the authentication: signer, app and store must \
            be this deployment's. A notification that was kept before is answered 200 too. The route exists where \
            `APPSTORE_ROOT_CA_FILE` is set.
            """,
            body: Body(
                .object([.required("signedPayload", .text("A compact JWS with its chain of certificates.", min: 1))]),
                examples: [("notification", ["signedPayload": "eyJhbGciOiJFUzI1NiIsIng1YyI6W119.e30.c2lnbmF0dXJl"])]
            ),
            answers: [
                .data(
                    200,
                    "Kept now, or before.",
                    .object([.required("duplicate", .flag("Whether it was kept before."))]),
                    example: ["duplicate": false]
                )
            ],
            refusals: [
                Refusal(400, ["no-signed-payload"], "The body holds no text `signedPayload`."),
                Refusal(403, ["notification-refused"], "The notification is not accepted; why is not told."),
            ],
            isOpen: true
        )
    }

    static let linkSubscription = RouteDescription(
        "linkSubscription",
        .subscriptions,
        """
        Ties a subscription to the user who shows a transaction of it, for purchases that carry no account token, such as offer \
        codes. It must be nobody's, and bought without an `appAccountToken` or with the user's own.
        """,
        body: Body(
            .object([
                .required(
                    "signedTransaction",
                    .text("A transaction from StoreKit, as a compact JWS.", min: 1, max: 32_768)
                )
            ]),
            examples: [("transaction", ["signedTransaction": "eyJhbGciOiJFUzI1NiIsIng1YyI6W119.e30.c2lnbmF0dXJl"])]
        ),
        answers: [
            .data(
                200,
                "The subscription is the user's already.",
                .object([.required("status", .text(oneOf: ["linked"]))]),
                example: ["status": "linked"]
            ),
            .data(
                202,
                "Accepted; it is decided within moments.",
                .object([.required("status", .text(oneOf: ["accepted"]))]),
                example: ["status": "accepted"]
            ),
        ],
        refusals: [
            Refusal(404, ["not-found"], "The subscription is another user's."),
            Refusal(
                422,
                ["transaction-refused"],
                "The transaction is none of this app's auto-renewable subscriptions."
            ),
        ]
    )

    static let lifecycleEvent = RouteDescription(
        "notifyLifecycleEvent",
        .subscriptions,
        """
        Tells a user about an event of a subscription, in words of the catalog and the user's language. With a `periodEnd` the \
        notice is sent once for user (or `originalTransactionId`), event and period. \(idempotencyText)
        """,
        parameters: [idempotencyKey],
        body: Body(
            .object([
                .required("userId", .text(min: 1, max: 128)),
                .required("event", .text(oneOf: LifecycleEvent.allCases.map(\.rawValue))),
                .optional("periodEnd", .moment("When the period ends; `subscription_expiring` needs it.")),
                .optional("originalTransactionId", .text(min: 1, max: 60, pattern: "^[A-Za-z0-9._-]+$")),
                .optional("productId", .text("Named in the text where the operator gave it a name.", max: 256)),
            ]),
            examples: [
                ("expired", ["userId": "u1", "event": "subscription_expired"]),
                (
                    "expiring",
                    [
                        "userId": "u1", "event": "subscription_expiring", "periodEnd": "2026-12-31T22:00:00Z",
                        "productId": "pro.monthly",
                    ]
                ),
            ]
        ),
        answers: [
            .data(
                202,
                "Enqueued.",
                .named("NotificationReceipt"),
                example: [
                    "messageId": CommonSchemas.exampleID, "jobId": CommonSchemas.exampleID, "duplicate": false,
                ],
                headers: [replayed]
            )
        ],
        refusals: [
            Refusal(400, ["invalid-idempotency-key"], "The `Idempotency-Key` is not acceptable."),
            Refusal(
                409,
                ["idempotency-key-running", "idempotency-key-incomplete"],
                "A request with this key runs, or its first try was refused."
            ),
            Refusal(422, ["idempotency-key-reused"], "The key was used for another request."),
        ]
    )
}
