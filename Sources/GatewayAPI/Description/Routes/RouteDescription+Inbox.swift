import Kernel
import Notifications

extension RouteDescription {
    /// `GET /api/v2/notifications`
    static let inboxPage = RouteDescription(
        "listNotifications",
        .inbox,
        "What was sent to the user, or may have arrived, the newest first.",
        parameters: pageParameters,
        answers: [
            .data(
                200,
                "A page of the inbox.",
                .object([
                    .required("list", .list(of: .named("InboxItem"))), .required("pagination", .named("Pagination")),
                ]),
                example: [
                    "list": [exampleItem],
                    "pagination": ["page": 1, "limit": 20, "total": 1, "totalPages": 1, "hasNext": false],
                ]
            )
        ]
    )

    /// `GET /api/v1/notifications`
    static let formerInbox = RouteDescription(
        "listNotificationsV1",
        .inbox,
        """
        The inbox without its pagination, for apps that have not moved to `/api/v2/notifications` yet. `Deprecation` (RFC 9745) \
        and `Sunset` (RFC 8594) say since when it is deprecated and when it may go, `Link` names the successor.
        """,
        parameters: pageParameters,
        answers: [
            .data(
                200,
                "A page of the inbox.",
                .list(of: .named("InboxItem")),
                example: [exampleItem],
                headers: [
                    (
                        "Deprecation", .text(pattern: "^@[0-9]+$"),
                        "Since when it is deprecated, in seconds of Unix time."
                    ),
                    ("Sunset", .text(), "When it may go, as an HTTP date."),
                    ("Link", .text(), "The successor."),
                ]
            )
        ],
        isDeprecated: true
    )

    /// `PATCH /api/v1/notifications/{id}/read`
    static let markRead = RouteDescription(
        "markNotification",
        .inbox,
        "An item that was read keeps the time of its first reading.",
        parameters: [notificationID],
        body: Body(
            .object([.required("isRead", .flag())]),
            examples: [("read", ["isRead": true]), ("unread", ["isRead": false])]
        ),
        answers: [.data(200, "The item as it is now.", .named("InboxItem"), example: exampleItem)],
        refusals: [noSuchNotification]
    )

    /// `GET /api/v1/notifications/unread-count`
    static let unreadCount = RouteDescription(
        "countUnread",
        .inbox,
        answers: [
            .data(
                200,
                "The exact number.",
                .object([.required("count", .integer(min: 0))]),
                example: ["count": 3]
            )
        ]
    )

    /// `POST /api/v1/notifications/read-all`
    static let markAllRead = RouteDescription(
        "markAllNotifications",
        .inbox,
        answers: [
            .data(
                200,
                "How many were unread.",
                .object([.required("updated", .integer(min: 0))]),
                example: ["updated": 3]
            )
        ]
    )

    static let noSuchNotification = Refusal(
        404,
        ["no-such-notification"],
        "There is no such notification, or it is somebody else's."
    )

    static let notificationID = Parameter.path(
        "id",
        .named("MessageId"),
        "The notification's id.",
        example: CommonSchemas.exampleID
    )

    static let pageParameters: [Parameter] = [
        .query("page", .integer(min: 1), "From 1, the default. `page` times `limit` is at most 10,000.", example: 1),
        .query(
            "limit",
            .integer(min: 1, max: PageRequest.maximumLimit),
            "Items of a page, 20 by default.",
            example: 20
        ),
    ]

    static let exampleItem: JSONValue = [
        "id": CommonSchemas.exampleID, "category": "reminder", "title": "Impulse AI",
        "body": "Have you checked in with yourself today?", "deeplinkUrl": "im://home?source=notification",
        "metadata": nil, "isRead": false, "readAt": nil, "createdAt": CommonSchemas.exampleTime,
    ]
}
