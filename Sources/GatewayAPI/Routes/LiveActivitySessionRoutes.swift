import HTTPServer
import Kernel
import Notifications

/// Apps report the Live Activities that run on their devices (G3).
struct LiveActivitySessionRoutes: Sendable {
    private static let path = "/api/v1/notifications/live-activity-sessions"

    let book: any LiveActivityBook
    let defaults: DeviceDefaults

    var endpoints: [Endpoint] {
        [
            .user(.post, Self.path, summary: "Report a running Live Activity, or its new token") { request, user in
                let session = try LiveActivitySession(reading: request)
                try await book.register(session, of: user, defaults: defaults)
                return .data([
                    "streamId": .string(session.streamID.rawValue), "deviceId": .string(session.deviceID),
                    "activityId": .optional(session.activityID),
                ])
            }
            .described(.registerSession),
            .user(
                .delete,
                Self.path + "/{streamId}/{deviceId}",
                summary: "A Live Activity has ended on the caller's own device"
            ) { request, user in
                // What cannot be a session is none.
                if let stream = request.parameters["streamId"].flatMap({ StreamID($0) }),
                    let device = request.parameters["deviceId"]
                {
                    try await book.remove(stream: stream, device: device, of: user)
                }
                return .noContent
            }
            .described(.removeSession),
        ]
    }
}

extension LiveActivitySession {
    /// - Throws: 415 and 400 for a body that is no JSON, 422 with every fault.
    fileprivate init(reading request: HTTPRequest) throws(Problem) {
        var body = try BodyReader(request)
        let stream = body.stream("streamId")
        let device = body.requiredText("deviceId", limit: 256)
        let token = body.requiredText("liveActivityToken", limit: PushToken.limit)
        let activity = body.text("activityId", limit: 256)
        let environment = body.choice("environment", PushEnvironment.self)
        let topic = body.text("topic", limit: 255)
        try body.finish()
        guard let stream, let device, let token else { throw .unacceptable([]) }
        self.init(
            streamID: stream,
            deviceID: device,
            token: PushToken.normalised(token, PushToken.provider(of: token)),
            activityID: activity.nonEmpty,
            environment: environment,
            topic: topic.nonEmpty
        )
    }
}

extension BodyReader {
    /// The id of a stream, which must be there.
    fileprivate mutating func stream(_ name: String) -> StreamID? {
        guard let text = requiredText(name, limit: 128), !text.isEmpty else { return nil }
        guard let stream = StreamID(text) else {
            report(name, "must be \(StreamID.rule)")
            return nil
        }
        return stream
    }
}
