import HTTPServer
import Kernel
import Notifications

/// "Why did this user get nothing?" (O2, E8)
struct ExplainRoutes: Sendable {
    let stories: any MessageStories

    var endpoints: [Endpoint] {
        [
            .service(
                .get,
                "/api/v1/notifications/explain",
                scope: .explainRead,
                summary: "What became of a message (messageId) or of a user's latest messages (userId)"
            ) { request, _ in
                switch (request.query("messageId"), request.query("userId")) {
                case (let id?, nil): return try await message(id)
                case (nil, let user?): return try await messages(of: user, request)
                default: throw Problem.badParameter("messageId", "or userId must be given, one of the two")
                }
            }
            .described(.explain)
        ]
    }

    private func message(_ text: String) async throws -> HTTPResponse {
        guard let id = MessageID(text.lowercased()) else {
            throw Problem.badParameter("messageId", "must be a UUID of version 7")
        }
        guard let story = try await stories.story(of: id) else { throw Problem.noSuchNotification }
        return .data(story.json)
    }

    private func messages(of text: String, _ request: HTTPRequest) async throws -> HTTPResponse {
        guard let user = UserID(text) else { throw Problem.badParameter("userId", "must be \(UserID.rule)") }
        let limit = try PageRequest(request).limit
        return .data(["messages": .array(try await stories.stories(of: user, limit: limit).map(\.json))])
    }
}

extension MessageStory {
    /// The story for operators. Devices appear by row id and shortened token only.
    var json: JSONValue {
        [
            "messageId": .string(messageID.description), "userId": .string(userID), "category": .optional(category),
            "scheduledFor": .optional(scheduledFor?.rfc3339), "message": row?.json ?? .null,
            "events": .array(events.map(\.json)),
        ]
    }
}

extension MessageStory.Row {
    var json: JSONValue {
        [
            "status": .string(status), "reason": .optional(reason), "weekKey": .optional(weekKey),
            "createdAt": .string(createdAt.rfc3339), "sentAt": .optional(sentAt?.rfc3339),
            "readAt": .optional(readAt?.rfc3339), "deliveries": deliveries,
        ]
    }
}

extension DeliveryEvent {
    var json: JSONValue {
        [
            "kind": .string(kind.rawValue), "at": .string(at.rfc3339), "gate": .optional(gate),
            "reason": .optional(reason), "jobId": .string(jobID), "ats": .integer(attemptsStarted),
            "attempt": .integer(attempt), "device": .optional(device), "detail": detail ?? .null,
        ]
    }
}
