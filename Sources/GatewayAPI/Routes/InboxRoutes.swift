import HTTPServer
import Kernel
import Notifications

/// The user's inbox (G4, G5).
struct InboxRoutes: Sendable {
    /// What `GET /api/v1/notifications` says of its end (RFC 9745, RFC 8594): since 2026-12-01, until 2027-12-01 at least.
    static let deprecation: [(name: String, value: String)] = [
        ("deprecation", "@1796083200"), ("sunset", "Wed, 01 Dec 2027 00:00:00 GMT"),
        ("link", "</api/v2/notifications>; rel=\"successor-version\""),
    ]

    let inbox: any Inbox

    var endpoints: [Endpoint] {
        [
            .user(.get, "/api/v2/notifications", summary: "A page of the inbox, newest first") { request, user in
                let page = try PageRequest(request)
                let (items, total) = try await inbox.page(of: user, limit: page.limit, offset: page.offset)
                return .data([
                    "list": .array(items.map(\.json)), "pagination": page.pagination(total: total),
                ])
            }
            .described(.inboxPage),
            .user(.get, "/api/v1/notifications", summary: "The same without pagination, for older apps") {
                request,
                user in
                let page = try PageRequest(request)
                let (items, _) = try await inbox.page(of: user, limit: page.limit, offset: page.offset)
                var response = HTTPResponse.data(.array(items.map(\.json)))
                for field in Self.deprecation { response.headers.add(field.name, field.value) }
                return response
            }
            .described(.formerInbox),
            .user(.patch, "/api/v1/notifications/{id}/read", summary: "Mark one notification read or unread") {
                request,
                user in
                var body = try BodyReader(request)
                let isRead = body.requiredFlag("isRead")
                try body.finish()
                guard let id = request.parameters["id"].flatMap({ MessageID($0.lowercased()) }), let isRead,
                    let item = try await inbox.mark(id, of: user, read: isRead)
                else { throw Problem.noSuchNotification }
                return .data(item.json)
            }
            .described(.markRead),
            .user(.get, "/api/v1/notifications/unread-count", summary: "How many notifications are unread") { _, user in
                .data(["count": .integer(try await inbox.unreadCount(of: user))])
            }
            .described(.unreadCount),
            .user(.post, "/api/v1/notifications/read-all", summary: "Mark every notification read") { _, user in
                .data(["updated": .integer(try await inbox.markAllRead(of: user))])
            }
            .described(.markAllRead),
        ]
    }
}

extension InboxItem {
    /// The item as the app reads it.
    var json: JSONValue {
        [
            "id": .string(id.description), "category": .string(category), "title": .string(title),
            "body": .string(body), "deeplinkUrl": .string(deeplinkURL), "metadata": metadata ?? .null,
            "isRead": .bool(readAt != nil), "readAt": .optional(readAt?.rfc3339),
            "createdAt": .string(createdAt.rfc3339),
        ]
    }
}

extension Problem {
    /// 404 for a notification that does not exist or is another user's: which of the two is not told.
    static let noSuchNotification = Problem(
        status: 404,
        slug: "no-such-notification",
        title: "Not found",
        detail: "There is no such notification."
    )
}
